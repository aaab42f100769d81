/** Explains why a node gets no requests, and what its host can do. The gateway reports the reasons as codes. */

import type { QuarantineReason } from "@tollgate/api/enumerations.ts";
import { type Paint, sanitiseForTerminal } from "@tollgate/terminal/terminal-text.ts";
import { formatUtcTime } from "./format-values.ts";
import type { Quarantine } from "./gateway/gateway-answers.ts";

interface Explained {
  words: string;
  remedy: string;
}

const REASONS: Record<QuarantineReason, Explained> = {
  failures: {
    words: "too many of the node's last jobs failed",
    remedy: "look at the engine's log, and run tollgate-host doctor",
  },
  speed: {
    words: "the node answered faster than this model can run",
    remedy: "serve the model that you elected (chose); tollgate-host elect checks which model the engine runs",
  },
  canary: {
    words: "the node's answers to test questions do not match this model",
    remedy: "serve the model that you elected (chose); tollgate-host elect checks which model the engine runs",
  },
  spot_check: {
    words:
      "other hosts' nodes found its answers too unlikely for this model (spot checks); what it earned since the last check before the first bad one is withheld",
    remedy: "serve the model that you elected (chose); tollgate-host elect checks which model the engine runs",
  },
  refused_prompts: {
    words: "the node refused too many prompts that fit the model's context",
    remedy: "configure the engine with the model's context length (see docs/hosts/engines.md)",
  },
};

/** Undefined for an operator's own text, and for a reason of a newer gateway. */
const explained = (reason: string): Explained | undefined => (REASONS as Record<string, Explained | undefined>)[reason];

/** The reason in words. An operator's own text is shown as written, except for control characters. */
export const formatQuarantineReason = ({ reason }: Quarantine): string =>
  explained(reason)?.words ?? sanitiseForTerminal(reason);

export function formatQuarantineRemedy(quarantine: Quarantine | null | undefined): string {
  const remedy = quarantine == null ? undefined : explained(quarantine.reason)?.remedy;
  return `${remedy ?? "fix the cause"}; then ask an operator of the platform to release the node`;
}

/** Explains why a node in good standing gets no requests. Unknown codes of newer gateways are shown unchanged. */
export function withheldRequestsReason(withheld: string): string {
  return withheld === "host_quarantine"
    ? "this node was registered while another of your nodes was in quarantine"
    : sanitiseForTerminal(withheld);
}

export const WITHHELD_REQUESTS_REMEDY =
  "tollgate-host status --all shows which node is quarantined; when an operator releases that node, or clears this one, this node gets requests";

export function formatQuarantineLines(quarantine: Quarantine, paint: Paint): string[] {
  const { at } = quarantine;
  const evidence = JSON.stringify(quarantine.evidence ?? {});
  const since = at == null ? "" : ` since ${formatUtcTime(at)} UTC`;
  return [
    paint.bad(`quarantined${since}: ${formatQuarantineReason(quarantine)}`),
    ...(evidence === "{}" ? [] : [`evidence: ${sanitiseForTerminal(evidence)}`]),
  ];
}
