/** How a request ended, as a word and a tone; and what that word means. */
import { Badge, type Tone } from "./badge.tsx";

interface Meaning {
  tone: Tone;
  says: string;
}

const OUTCOMES: Record<string, Meaning> = {
  ok: { tone: "good", says: "Finished." },
  upstream_failed: { tone: "bad", says: "The node did not finish. The prompt and the output so far were billed." },
  upstream_stall: {
    tone: "bad",
    says: "The node went quiet. What it had generated was billed; nothing if nothing was.",
  },
  no_capacity: { tone: "warn", says: "No node could take it in time. Nothing was billed." },
  client_closed: { tone: "neutral", says: "The client went away. What was generated until then was billed." },
  gateway_lost: { tone: "warn", says: "The gateway stopped while it ran. Nothing was billed." },
  rate_limit_requests: { tone: "warn", says: "Refused: too many requests this minute on this key." },
  rate_limit_tokens: { tone: "warn", says: "Refused: the key's tokens for this minute were spent." },
  rate_limit_streams: { tone: "warn", says: "Refused: too many requests in flight on this key." },
  rate_limit_sku_capacity: { tone: "warn", says: "Refused: the platform was at its ceiling for this model." },
};

export const OUTCOME_NAMES = Object.keys(OUTCOMES);

export const outcomeMeaning = (outcome: string): Meaning =>
  OUTCOMES[outcome] ?? { tone: "neutral", says: "An ending that this console does not know." };

export const Outcome = ({ of }: { of: string }) => <Badge tone={outcomeMeaning(of).tone}>{of}</Badge>;
