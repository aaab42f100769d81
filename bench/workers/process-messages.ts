/** Messages between the processes of this bench. */
import type { TargetAddress } from "../gateway/load.ts";
import type { Scenario } from "../gateway/scenarios.ts";
import type { NodeLogin } from "../streams/node-connection.ts";

/** How a node answers: the number of words, and the pause between two of them in milliseconds; 0: all words at once. */
export interface AnswerPace {
  words: number;
  delayMs: number;
}

export type NodesMessage = { type: "join"; logins: NodeLogin[] } | { type: "pace"; pace: AnswerPace };

/** Starts a load. Each address has an account of its own; the load is divided among them. */
export type ClientsMessage = { type: "run"; addresses: TargetAddress[]; scenario: Scenario };

export interface LoadReport {
  type: "loaded";
  ok: number;
  /** The number of stream events. Words sent shortly after each other arrive as one event. */
  events: number;
  errors: Record<string, number>;
  /** The highest median latency of any account. `p99Ms`: the same for the 99th percentile. */
  p50Ms: number;
  p99Ms: number;
}
