/**
 * The state machine of one attempt of a request on one node, as a table. An attempt ends in exactly one final state. Events: `empty` (the
 * node finished without one token of output), `quiet` (no sign of life in the allowed time), `late` (not accepted in time, so another node
 * is asked), `expire` (the job ran longer than allowed), `lost` (the node's connection dropped), `cut` (the plane lost the job although the
 * node was well), `broken` (the node broke the protocol).
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

/** Events that end a running attempt. */
const ends = {
  done: "finished",
  // Text that does not count as output (line breaks before thinking) may have come before.
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
  // Before acceptance nothing ran, so another node can be asked at no cost.
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
  // A node that reads the prompt for too long is also passed over.
  accepted: { progress: "accepted", output: "producing", late: "declined", ...ends },
  // Progress reports the reading of the prompt, so it is no sign of life once output flows.
  producing: { progress: "producing", output: "producing", ...ends },
} as const satisfies Record<string, Partial<Record<AttemptEvent, AttemptState>>>;

export const isOver = (state: AttemptState): state is AttemptEnd => !(state in next);

/** Returns undefined when a node that follows the protocol cannot cause this event now. */
export function advance(state: AttemptState, event: AttemptEvent): AttemptState | undefined {
  if (isOver(state)) return undefined;
  return (next[state] as Partial<Record<AttemptEvent, AttemptState>>)[event];
}

/**
 * What follows an attempt without an answer: one retry on another node, a retry that does not count, or the end of the request. After an
 * empty answer another node gives a second opinion. An expired job is not retried because it would run as long again. A job that the plane
 * cut is retried without counting, on the same node too.
 */
export function decideRetry(
  end: AttemptEnd,
  request: { reachedClient: boolean; retriesLeft: number },
): "retry" | "again" | "end" {
  if (end === "cut") return request.reachedClient ? "end" : "again";
  if (end !== "quiet" && end !== "lost" && end !== "empty") return "end";
  return request.reachedClient || request.retriesLeft === 0 ? "end" : "retry";
}

/** What another node's attempt shows about an empty answer: it had output, it was empty too, or it failed. */
export function decideOpinion(second: {
  state: AttemptState;
  /** The sink had all the output it needed. */
  enough: boolean;
  /** The attempt ended normally without one token. */
  blank: boolean;
  hadOutput: boolean;
}): "refuted" | "shared" | "own ending" | "none" {
  if (second.state === "empty") return "shared";
  if (second.state === "finished" || second.enough) return second.blank ? "own ending" : "refuted";
  // The client left, or there was output and the attempt ended by its own rule.
  return second.state === "cancelled" || second.hadOutput ? "own ending" : "none";
}
