/** Why a node was quarantined, in words: what was seen, and what its host can do. Pure. */
import type { Quarantine } from "../api/types.ts";

interface Words {
  title: string;
  /** For the host. */
  remedy: string;
}

const REASONS: Record<string, Words> = {
  failures: {
    title: "Too many of its last jobs failed",
    remedy: "Check the engine's log; tollgate-host doctor tests the engine.",
  },
  refused_prompts: {
    title: "It refused too many prompts as too long or unreadable",
    remedy: "Configure the engine with the model's full context length.",
  },
  speed: {
    title: "It answered faster than the model can",
    remedy: "Serve the model that the node elected.",
  },
  canary: {
    title: "It failed canary requests",
    remedy: "Serve the model that the node elected, in the listed quantisation.",
  },
};

/** An operator's quarantine has their own words as its reason. */
export function wordsOf({ reason }: Quarantine): Words & { byOperator: boolean } {
  const known = REASONS[reason];
  if (known !== undefined) return { ...known, byOperator: false };
  return {
    title: `By an operator: ${reason}`,
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
};

const KINDS: Record<string, string> = {
  engine: "engine failed",
  agent: "agent failed",
  prompt: "prompt refused",
  protocol: "protocol violation",
  silent: "it stalled",
  lost: "connection lost",
  miss: "no output where another node had some",
};

/** The evidence as names and values; what is not known here is shown as it is. */
export function evidenceOf({ evidence }: Quarantine): [name: string, value: string][] {
  return Object.entries(evidence).map(([name, value]) => {
    if (name === "kinds" && typeof value === "object" && value !== null) {
      const kinds = Object.entries(value).map(([kind, times]) => `${KINDS[kind] ?? kind}: ${String(times)}`);
      return ["Of which", kinds.join(", ")];
    }
    return [NAMES[name] ?? name, typeof value === "object" ? JSON.stringify(value) : String(value)];
  });
}
