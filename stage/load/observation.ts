/**
 * One client's observation of one request, the only data that the auditor has about it. Clients never retry, so no
 * failure is hidden.
 */

type Endpoint = "chat" | "completion" | "embedding" | "reading";

/** The request, and the account that sends it. */
export interface PlannedRequest {
  kind: string;
  endpoint: Endpoint;
  /** The database ID of the account that pays; null if the request is free. */
  account: string | null;
  model: string | null;
  stream: boolean;
  /**
   * The request's `max_tokens`. Concurrent requests hardly ever have the same value, so it identifies a record when the
   * request ID is unknown.
   */
  cap: number | null;
  /** The answer that the prompt instructs the scripted engine to give. Every word is one token. */
  text: string;
  /** The client disconnects after this time in milliseconds; null: never. */
  hangUpAfterMs: number | null;
  /** Whether the account has little credit on purpose, so that status 402 counts as a success. */
  isPoor: boolean;
}

/**
 * `complete`: status 200 and the whole answer. `refused`: an error status. `event`: a stream that ended with an error
 * event. `lost`: the connection broke, or the balancer reported that. `hung up`: the client disconnected on purpose.
 * `gave up`: the client waited too long.
 */
export type RequestEnd = "complete" | "refused" | "event" | "lost" | "hung up" | "gave up";

export interface RequestObservation extends PlannedRequest {
  /** Milliseconds since the run began. */
  beganAt: number;
  endedAt: number;
  end: RequestEnd;
  requestId: string | null;
  status: number | null;
  /** The error code, from the body or the event. */
  code: string | null;
  /** The part of the output that arrived. */
  received: string;
  usage: { prompt: number; completion: number } | null;
}

/**
 * Returns the request's end in the form used in tables: `ok`, `503 no_capacity`, `event upstream_stall`, `connection
 * lost`.
 */
export function describeEnd({ end, status, code, isPoor }: RequestObservation): string {
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

export const countWords = (text: string): number => text.match(/\S+/g)?.length ?? 0;
