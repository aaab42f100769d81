/** An attempt in flight, and its changes of state by the table in attempt-state-machine.ts. */
import type { Endpoint } from "@tollgate/protocol/frames.ts";
import { ShortLivedMap } from "../base/short-lived-collections.ts";
import type { AttemptEnd } from "../base/stored-enumerations.ts";
import { type AttemptEvent, type AttemptState, findNextState, hasEnded } from "./attempt-state-machine.ts";
import type { DispatchRequest, DispatchSink } from "./dispatch-request.ts";
import type { SignsOfLife } from "./node-silence.ts";
import type { RosterNode } from "./roster-node.ts";

/**
 * Why an attempt failed, as far as the gateway knows: the node reported a failure of its engine, its agent or the
 * prompt; it broke the protocol; it fell silent; its connection dropped; or it returned no output for a request for
 * which another node returned some (`miss`).
 */
export type AttemptFailure = "engine" | "agent" | "prompt" | "protocol" | "silent" | "lost" | "miss";

export interface Attempt {
  readonly job: string;
  readonly model: string;
  readonly endpoint: Endpoint;
  readonly stream: boolean;
  readonly origin: DispatchRequest["origin"];
  readonly node: RosterNode;
  readonly offeredAt: number;
  state: AttemptState;
  /** The expected sequence number of the node's next output. */
  seq: number;
  acceptedAt: number | null;
  firstOutputAt: number | null;
  lastOutputAt: number | null;
  aliveAt: number;
  finish: "stop" | "length" | null;
  /** The sink needed no more output, so the node was stopped. */
  enough: boolean;
  /** The attempt ended normally, without one token of output. */
  blank: boolean;
  failure: AttemptFailure | null;
  /**
   * The engine could not build a grammar from the output format. The schema is the cause, so the node is not blamed.
   */
  unbuilt: boolean;
  /** How the node declined the offer; null if it did not. */
  refusal: "busy" | "late" | null;
}

export interface RunningAttempt extends Attempt, SignsOfLife {
  /** Frames to be sent once the node accepts. */
  rest: [head: Uint8Array, rest?: Uint8Array][];
  formatted: boolean;
  sink: DispatchSink;
  began: () => void;
  stopTimer: () => void;
  over: (end: AttemptEnd) => void;
}

const FAILURES: Partial<Record<AttemptEvent, AttemptFailure>> = { quiet: "silent", lost: "lost", broken: "protocol" };

export function applyEvent(attempt: RunningAttempt, event: AttemptEvent): void {
  if (hasEnded(attempt.state)) return;
  // An event that the protocol does not allow ends the attempt as broken, in every state.
  const next = findNextState(attempt.state, event);
  attempt.state = next ?? (findNextState(attempt.state, "broken") as AttemptState);
  attempt.failure ??= next === undefined ? "protocol" : (FAILURES[event] ?? null);
  if (attempt.state === "declined" && (event === "busy" || event === "late")) attempt.refusal = event;
  if (hasEnded(attempt.state)) attempt.over(attempt.state);
}

/** This gateway's attempts in flight, by job. */
export class RunningAttempts extends ShortLivedMap<string, RunningAttempt> {
  /**
   * The node's running attempt with this job. Undefined if it has ended or belongs to another node; frames about it are
   * then ignored.
   */
  find(nodeId: string, job: string): RunningAttempt | undefined {
    const attempt = this.get(job);
    return attempt?.node.id === nodeId ? attempt : undefined;
  }

  on(nodeId: string): RunningAttempt[] {
    return this.all().filter(({ node }) => node.id === nodeId);
  }
}
