/** Names, colors and explanations of request outcomes. Pure. */
import type { Tone } from "../ui/badge.tsx";

interface Meaning {
  tone: Tone;
  says: string;
}

const OUTCOMES: Record<string, Meaning> = {
  ok: { tone: "good", says: "Completed." },
  upstream_failed: { tone: "bad", says: "The node failed. The prompt and the output so far were billed." },
  upstream_stall: {
    tone: "bad",
    says: "The node stalled. If it had generated output, the prompt and that output were billed.",
  },
  no_capacity: { tone: "warn", says: "No node was available in time. Nothing was billed." },
  client_closed: {
    tone: "neutral",
    says: "The client disconnected. If a node had started, the prompt and the output so far were billed.",
  },
  plane_lost: {
    tone: "warn",
    says: "The connection to the node was lost. If output had reached the client, the prompt and that output were billed.",
  },
  gateway_stopped: {
    tone: "warn",
    says: "The gateway was stopped before the request ended. If output had reached the client, the prompt and that output were billed.",
  },
  gateway_lost: { tone: "warn", says: "The gateway stopped while the request ran. Nothing was billed." },
  rate_limit_requests: { tone: "warn", says: "Rate-limited: the key reached its limit of requests per minute." },
  rate_limit_tokens: { tone: "warn", says: "Rate-limited: the key reached its limit of tokens per minute." },
  rate_limit_streams: { tone: "warn", says: "Rate-limited: too many concurrent requests with this key." },
  rate_limit_sku_capacity: { tone: "warn", says: "Rate-limited: the platform is at capacity for this model." },
};

export const OUTCOME_NAMES = Object.keys(OUTCOMES);

export const describeOutcome = (outcome: string): Meaning =>
  OUTCOMES[outcome] ?? { tone: "neutral", says: "Unknown outcome." };
