/** One client's view of one request: everything that the auditor knows of it. Clients never retry, so nothing is hidden. */

type Endpoint = "chat" | "completion" | "embedding" | "reading";

/** The request and its sender. */
export interface Errand {
  kind: string;
  endpoint: Endpoint;
  /** The account that pays, as the database knows it; null where nothing is paid. */
  account: string | null;
  model: string | null;
  stream: boolean;
  /** `max_tokens`. Hardly two requests at a time have the same, so that a record without a known id is found by it. */
  cap: number | null;
  /** The answer that the scripted engine is ordered to give. Every word of it is one token. */
  text: string;
  /** The client disconnects after this time. */
  hangUpAfterMs: number | null;
  /** An answer of 402 is as good as one of 200: the account is poor on purpose. */
  isPoor: boolean;
}

/**
 * `complete`: 200 and all of it. `refused`: an error's status. `event`: a stream that ended with an error's event. `lost`: the
 * connection broke, or the balancer said so. `hung up`: by the client, on purpose. `gave up`: the client waited too long.
 */
export type End = "complete" | "refused" | "event" | "lost" | "hung up" | "gave up";

export interface Sight extends Errand {
  /** Milliseconds since the run began. */
  beganAt: number;
  endedAt: number;
  end: End;
  requestId: string | null;
  status: number | null;
  /** Of the error, in the body or in the event. */
  code: string | null;
  /** The output that arrived. */
  received: string;
  usage: { prompt: number; completion: number } | null;
}

/** The client's result in the words of the tables: `ok`, `503 no_capacity`, `event upstream_stall`, `connection lost`. */
export function answerOf({ end, status, code, isPoor }: Sight): string {
  switch (end) {
    case "complete":
    case "hung up":
      return "ok";
    case "refused":
      if (isPoor && status === 402) return "ok";
      return [status, code].filter((part) => part !== null).join(" ");
    case "event":
      return `event ${code}`;
    case "lost":
      return "connection lost";
    case "gave up":
      return "no answer";
  }
}

export const wordsIn = (text: string): number => text.match(/\S+/g)?.length ?? 0;
