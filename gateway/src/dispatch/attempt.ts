/**
 * One attempt of one request on one node, as a table. The request was offered; the node accepts and runs it, or declines.
 * `empty` means that the node is done and not one token of output came, `quiet` that it let its time pass without a sign of
 * life, `late` that it did not accept in time and another is asked, `expire` that the job lasts longer than any may, `lost` that its connection dropped, `cut` that the plane lost it while
 * the node was well, `broken` that it said something the protocol does not allow. An attempt ends in exactly one of the final states.
 */
export type AttemptState = "offered" | "accepted" | "producing" | AttemptEnd;
export type AttemptEnd =
  | "finished"
  | "empty"
  | "failed"
  | "broken"
  | "quiet"
  | "expired"
  | "lost"
  | "cut"
  | "declined"
  | "cancelled";
export type AttemptEvent =
  | "accept"
  | "busy"
  | "progress"
  | "output"
  | "done"
  | "empty"
  | "fail"
  | "quiet"
  | "late"
  | "expire"
  | "lost"
  | "cut"
  | "broken"
  | "cancel";

/** What ends an attempt that runs. */
const ends = {
  done: "finished",
  // Text that is no output in the end (line breaks before thinking) may have come before.
  empty: "empty",
  fail: "failed",
  broken: "broken",
  quiet: "quiet",
  expire: "expired",
  lost: "lost",
  cut: "cut",
  cancel: "cancelled",
} as const;

const next = {
  // Before acceptance nothing ran: whatever goes wrong, another node may be asked at no cost.
  offered: {
    accept: "accepted",
    busy: "declined",
    late: "declined",
    quiet: "declined",
    lost: "declined",
    cut: "cut",
    broken: "declined",
    cancel: "cancelled",
  },
  // One that reads the prompt for long is passed over, too.
  accepted: { progress: "accepted", output: "producing", late: "declined", ...ends },
  // Progress reports the reading of the prompt; once output flows it means nothing and keeps no one waiting.
  producing: { progress: "producing", output: "producing", ...ends },
} as const satisfies Record<string, Partial<Record<AttemptEvent, AttemptState>>>;

export const isOver = (state: AttemptState): state is AttemptEnd => !(state in next);

/** Undefined: a node that follows the protocol would not have caused this event now. */
export function advance(state: AttemptState, event: AttemptEvent): AttemptState | undefined {
  if (isOver(state)) return undefined;
  return (next[state] as Partial<Record<AttemptEvent, AttemptState>>)[event];
}

/**
 * After an attempt ended without an answer: try another node once, try any again at no cost, or is that the request's ending?
 * Of an empty answer the other node gives a second opinion. A job that lasted too long would last as long again. One that
 * the plane cut is tried again with everything it had, the same node too.
 */
export function decideRetry(
  end: AttemptEnd,
  request: { reachedClient: boolean; retriesLeft: number },
): "retry" | "again" | "end" {
  if (end === "cut") return request.reachedClient ? "end" : "again";
  if (end !== "quiet" && end !== "lost" && end !== "empty") return "end";
  return request.reachedClient || request.retriesLeft === 0 ? "end" : "retry";
}

/** What another node's attempt says of an empty answer: it had output, it was empty too, or it came to nothing. */
export function decideOpinion(second: {
  state: AttemptState;
  /** The sink had what it wanted. */
  enough: boolean;
  /** It ended well without one token. */
  blank: boolean;
  hadOutput: boolean;
}): "refuted" | "shared" | "own ending" | "none" {
  if (second.state === "empty") return "shared";
  if (second.state === "finished" || second.enough) return second.blank ? "own ending" : "refuted";
  // The client left, or output came that ends by its own row.
  return second.state === "cancelled" || second.hadOutput ? "own ending" : "none";
}
