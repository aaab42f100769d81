/** Messages between the processes of this bench. */
import type { Address } from "../gateway/load.ts";
import type { Scenario } from "../gateway/scenarios.ts";
import type { NodeLogin } from "../streams/node-connection.ts";

/** How a node answers: so many words, and so long between two of them; 0: all of them at once. */
export interface Pace {
  words: number;
  delayMs: number;
}

export type ToNodes = { type: "join"; logins: NodeLogin[] } | { type: "pace"; pace: Pace };

/** Each address is an account of its own; the load is shared out among them. */
export type ToClients = { type: "run"; addresses: Address[]; scenario: Scenario };

export interface Loaded {
  type: "loaded";
  ok: number;
  /** Words that were said close to each other are one event. */
  events: number;
  errors: Record<string, number>;
  /** Of the slowest account's load. */
  p50Ms: number;
  p99Ms: number;
}
