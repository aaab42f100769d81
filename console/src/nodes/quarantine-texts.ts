/** Explains a quarantine: what the platform observed, and what the host can do. Pure. */

import type { QuarantineReason } from "@tollgate/api/enumerations.ts";
import type { Quarantine } from "../api/answer-types.ts";
import { formatWithDecimals } from "../locale.ts";

interface Words {
  title: string;
  /** What the host can do. */
  remedy: string;
}

const REASONS: Record<QuarantineReason, Words> = {
  failures: {
    title: "Too many recent jobs failed",
    remedy: "Check the engine's log. Run tollgate-host doctor to test the engine.",
  },
  refused_prompts: {
    title: "The node rejected too many prompts as too long or invalid",
    remedy: "Configure the engine with the model's full context length.",
  },
  speed: {
    title: "The node answered faster than the model can run",
    remedy: "Let the engine run exactly the model that you chose for this node.",
  },
  canary: {
    title: "The node failed canary requests (test prompts with known answers)",
    remedy: "Let the engine run exactly the model that you chose for this node, in the listed quantisation.",
  },
  spot_check: {
    title: "The node failed spot checks: other hosts' nodes found its answers too unlikely for the model",
    remedy:
      "Let the engine run exactly the model that you chose for this node, in the listed quantisation and with its own chat template.",
  },
};

/** Explains a quarantine. An unknown reason is the text of an operator who quarantined the node. */
export function explainQuarantine({ reason }: Quarantine): Words & { byOperator: boolean } {
  const known = (REASONS as Record<string, Words | undefined>)[reason];
  if (known !== undefined) return { ...known, byOperator: false };
  return {
    title: `Quarantined by an operator: ${reason}`,
    remedy: "Contact the platform's operators.",
    byOperator: true,
  };
}

const NAMES: Record<string, string> = {
  jobs: "Jobs counted",
  failures: "Failures",
  model: "Model",
  tokens: "Tokens",
  tokens_per_second: "Tokens per second",
  ceiling: "Maximum for the model",
  why: "Finding",
  probe: "Platform probe",
  asked: "Canary requests since the first failure",
  offers: "Offers within an hour",
  since: "First bad score",
  bad_scores: "Bad scores",
  strength: "Evidence",
  threshold: "Evidence that quarantines a node",
};

const KINDS: Record<string, string> = {
  engine: "engine failed",
  agent: "agent failed",
  prompt: "prompt rejected",
  protocol: "protocol violation",
  silent: "stalled",
  lost: "connection lost",
  miss: "no output, although another node answered",
};

/** The evidence as names and values. Unknown evidence is shown as the API sent it. */
export function listEvidence({ evidence }: Quarantine): [name: string, value: string][] {
  return Object.entries(evidence).map(([name, value]) => {
    if (name === "kinds" && typeof value === "object" && value !== null) {
      const kinds = Object.entries(value).map(([kind, times]) => `${KINDS[kind] ?? kind}: ${String(times)}`);
      return ["Failures by type", kinds.join(", ")];
    }
    if (name === "scores" && Array.isArray(value)) return ["Scores", value.map(scoreWords).join(", ")];
    return [NAMES[name] ?? name, typeof value === "object" ? JSON.stringify(value) : String(value)];
  });
}

/** A score with its time, for example "-6.20 (2026-11-18 09:12)". */
function scoreWords(entry: { at?: string; score?: number | null }): string {
  const score = typeof entry.score === "number" ? formatWithDecimals(entry.score, 2) : "no score";
  return `${score} (${entry.at?.slice(0, 16).replace("T", " ") ?? "no time"})`;
}
