/** Why a node was quarantined, in words: what was seen, and what its host can do. Pure. */
import type { Quarantine } from "./api/host-types.ts";

interface Words {
  title: string;
  /** For the host. */
  remedy: string;
}

const REASONS: Record<string, Words> = {
  failures: {
    title: "Too many of its last jobs failed",
    remedy: "Look at the engine's log; tollgate-host doctor tests the engine by itself.",
  },
  refused_prompts: {
    title: "It refused too many prompts as too long or unreadable",
    remedy: "Give the engine the context that the model's entry promises.",
  },
  speed: {
    title: "It answered faster than the model can",
    remedy: "Serve the model that was elected.",
  },
  canary: {
    title: "It answered test questions as the model would not",
    remedy: "Serve the model that was elected, in the promised quantisation.",
  },
};

/** An operator's quarantine has their own words as its reason. */
export function wordsOf({ reason }: Quarantine): Words & { byOperator: boolean } {
  const known = REASONS[reason];
  if (known !== undefined) return { ...known, byOperator: false };
  return {
    title: `By an operator: ${reason}`,
    remedy: "Ask the operators of the platform.",
    byOperator: true,
  };
}

const NAMES: Record<string, string> = {
  jobs: "Jobs looked at",
  failures: "Failures",
  model: "Model",
  tokens: "Tokens",
  tokens_per_second: "Tokens per second",
  ceiling: "The model's ceiling",
  why: "What was wrong",
  probe: "A question of the platform's own",
};

const KINDS: Record<string, string> = {
  engine: "the engine failed",
  agent: "the agent failed",
  prompt: "the prompt was refused",
  protocol: "it broke the protocol",
  silent: "it went quiet",
  lost: "its connection was lost",
  miss: "it had no output where another node had some",
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
