/**
 * One attempt of one request on one node, as a table. The request was offered; the node accepts and runs it, or declines.
 * `quiet` means that the node let its time pass without a sign of life, `lost` that its connection dropped, `broken` that
 * it said something the protocol does not allow. An attempt ends in exactly one of the final states.
 */
export type AttemptState = "offered" | "accepted" | "producing" | AttemptEnd;
export type AttemptEnd = "finished" | "failed" | "quiet" | "lost" | "declined" | "cancelled";
export type AttemptEvent =
  | "accept"
  | "busy"
  | "progress"
  | "output"
  | "done"
  | "fail"
  | "quiet"
  | "lost"
  | "broken"
  | "cancel";

const next = {
  // Before acceptance nothing ran: whatever goes wrong, another node may be asked at no cost.
  offered: {
    accept: "accepted",
    busy: "declined",
    quiet: "declined",
    lost: "declined",
    broken: "declined",
    cancel: "cancelled",
  },
  accepted: {
    progress: "accepted",
    output: "producing",
    done: "finished",
    fail: "failed",
    broken: "failed",
    quiet: "quiet",
    lost: "lost",
    cancel: "cancelled",
  },
  producing: {
    // Progress reports the reading of the prompt; once output flows it means nothing and keeps nobody waiting.
    progress: "producing",
    output: "producing",
    done: "finished",
    fail: "failed",
    broken: "failed",
    quiet: "quiet",
    lost: "lost",
    cancel: "cancelled",
  },
} as const satisfies Record<string, Partial<Record<AttemptEvent, AttemptState>>>;

export const isOver = (state: AttemptState): state is AttemptEnd => !(state in next);

/** Undefined: a node that follows the protocol would not have caused this event now. */
export function advance(state: AttemptState, event: AttemptEvent): AttemptState | undefined {
  if (isOver(state)) return undefined;
  return (next[state] as Partial<Record<AttemptEvent, AttemptState>>)[event];
}

/** After an attempt ended without an answer: try the other node once, or is that the request's ending? */
export function decideRetry(
  end: AttemptEnd,
  request: { reachedClient: boolean; retriesLeft: number },
): "retry" | "end" {
  if (end !== "quiet" && end !== "lost") return "end";
  return request.reachedClient || request.retriesLeft === 0 ? "end" : "retry";
}
