/** Messages between the processes of this bench. */
import type { Address } from "../gateway/load.ts";
import type { Scenario } from "../gateway/scenarios.ts";
import type { NodeLogin } from "../streams/node-connection.ts";

/** How a node answers: the number of words, and the pause between two of them; 0: all at once. */
export interface Pace {
  words: number;
  delayMs: number;
}

export type ToNodes = { type: "join"; logins: NodeLogin[] } | { type: "pace"; pace: Pace };

/** Each address is an account of its own; the load is divided among them. */
export type ToClients = { type: "run"; addresses: Address[]; scenario: Scenario };

export interface Loaded {
  type: "loaded";
  ok: number;
  /** Words sent shortly after each other arrive as one event. */
  events: number;
  errors: Record<string, number>;
  /** The latencies of the slowest account's load. */
  p50Ms: number;
  p99Ms: number;
}
