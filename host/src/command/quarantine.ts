/** Why a node is kept from work, in words, and what its host can do. The platform's own reasons are codes. */

import { type Paint, sanitise } from "@tollgate/terminal/text.ts";
import { utcTime } from "./format.ts";
import type { Quarantine } from "./gateway/answers.ts";

interface Explained {
  words: string;
  remedy: string;
}

const REASONS: Record<string, Explained | undefined> = {
  failures: {
    words: "too many of its last jobs failed",
    remedy: "look at the engine's log, and let tollgate-host doctor test it",
  },
  speed: {
    words: "it answered faster than this model can",
    remedy: "serve the model that was elected: tollgate-host elect checks what the engine holds",
  },
  canary: {
    words: "its answers to test questions are not those of this model",
    remedy: "serve the model that was elected: tollgate-host elect checks what the engine holds",
  },
  spot_check: {
    words:
      "other hosts' nodes found its answers too unlikely for this model (spot checks); what it earned since the first bad one is withheld",
    remedy: "serve the model that was elected: tollgate-host elect checks what the engine holds",
  },
  refused_prompts: {
    words: "it refused too many prompts that fit the model's context",
    remedy: "give the engine the context that the catalogue promises; docs/hosts/engines.md lists it",
  },
};

/** An operator's own words stand as they are. */
export const quarantineReason = ({ reason }: Quarantine): string => REASONS[reason]?.words ?? sanitise(reason);

export function quarantineRemedy(quarantine: Quarantine | null | undefined): string {
  const remedy = quarantine == null ? undefined : REASONS[quarantine.reason]?.remedy;
  return `${remedy ?? "put the cause right"}; then ask an operator of the platform to release the node`;
}

/** Why a node in good standing gets no work. Codes that are newer than this program stand as they are. */
export function withheldReason(withheld: string): string {
  return withheld === "host_quarantine"
    ? "it was registered while another node of yours was in quarantine"
    : sanitise(withheld);
}

export const WITHHELD_REMEDY =
  "tollgate-host status --all shows which node is quarantined; this one gets requests once an operator releases that one or clears this one";

export function quarantineLines(quarantine: Quarantine, paint: Paint): string[] {
  const { at } = quarantine;
  const evidence = JSON.stringify(quarantine.evidence ?? {});
  const since = at == null ? "" : ` since ${utcTime(at)} UTC`;
  return [
    paint.bad(`quarantined${since}: ${quarantineReason(quarantine)}`),
    ...(evidence === "{}" ? [] : [`evidence: ${sanitise(evidence)}`]),
  ];
}
