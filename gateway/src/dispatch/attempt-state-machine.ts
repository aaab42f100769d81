/**
 * The state machine of an attempt (one try of a request on one node), as a table. An attempt ends in exactly one final
 * state. Events: `empty` (the node finished without one token of output), `quiet` (no sign of life in the allowed
 * time), `late` (not accepted in time, so another node is asked), `expire` (the job exceeded its time limit), `lost`
 * (the node's connection dropped), `cut` (the dispatch plane lost the job although the node was well), `broken` (the
 * node broke the protocol).
 */
import type { AttemptEnd } from "../base/stored-enumerations.ts";

export type AttemptState = "offered" | "accepted" | "producing" | AttemptEnd;
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

/** The final states for events that end an accepted attempt. */
const ends = {
  done: "finished",
  // There may have been text that does not count as output, such as line breaks before the thinking.
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
  // Until the node accepts the job, it has not started the work, so asking another node costs nothing.
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
  // A node that reads the prompt for too long can still be replaced by another.
  accepted: { progress: "accepted", output: "producing", late: "declined", ...ends },
  // A progress message means that the node reads the prompt, so after the first output it does not count as a sign of
  // life.
  producing: { progress: "producing", output: "producing", ...ends },
} as const satisfies Record<string, Partial<Record<AttemptEvent, AttemptState>>>;

export const hasEnded = (state: AttemptState): state is AttemptEnd => !(state in next);

/** The state after an event. Undefined if a node that follows the protocol cannot cause the event in this state. */
export function findNextState(state: AttemptState, event: AttemptEvent): AttemptState | undefined {
  if (hasEnded(state)) return undefined;
  return (next[state] as Partial<Record<AttemptEvent, AttemptState>>)[event];
}

/**
 * Decides what follows an attempt without an answer: `retry` (the one retry, on another node), `again` (a retry that
 * does not count), or `end`. After an empty answer, the retry is a second opinion. A job that exceeded its time limit
 * is not retried, because it would take as long again. A job that the dispatch plane lost is retried without counting,
 * also on the same node.
 */
export function decideRetry(
  end: AttemptEnd,
  request: { reachedClient: boolean; retriesLeft: number },
): "retry" | "again" | "end" {
  if (end === "cut") return request.reachedClient ? "end" : "again";
  if (end !== "quiet" && end !== "lost" && end !== "empty") return "end";
  return request.reachedClient || request.retriesLeft === 0 ? "end" : "retry";
}

/**
 * The result of a second opinion on an empty answer. `refuted`: the second node returned output. `shared`: its answer
 * is empty too. `own ending`: its attempt ended for a reason that says nothing about the first node. `none`: it failed.
 */
export function judgeSecondOpinion(second: {
  state: AttemptState;
  /** The sink needed no more output, so the node was stopped. */
  enough: boolean;
  /** The attempt ended normally, without one token of output. */
  blank: boolean;
  hadOutput: boolean;
}): "refuted" | "shared" | "own ending" | "none" {
  if (second.state === "empty") return "shared";
  if (second.state === "finished" || second.enough) return second.blank ? "own ending" : "refuted";
  // The client disconnected, or there was output and the attempt then ended for its own reason.
  return second.state === "cancelled" || second.hadOutput ? "own ending" : "none";
}
