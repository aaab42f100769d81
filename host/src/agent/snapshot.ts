/** The agent's current state for a screen, without text of prompts or answers. */
import type { Endpoint } from "@tollgate/protocol/frames.ts";

/**
 * `connecting`: on the way to the plane, or back to it. `online`: reachable for jobs. `draining`: finishes what runs,
 * refuses what is new. `stopped`: left permanently.
 */
export type AgentState = "connecting" | "online" | "draining" | "stopped";

export interface RunningJob {
  /** The job's id on the wire: the request's suffix and its attempt. */
  job: string;
  /** The catalogue's model id. */
  model: string;
  endpoint: Endpoint;
  /** Since it was accepted. */
  seconds: number;
  /** UTF-16 units of answer and thinking so far; 0 for embeddings. */
  outputChars: number;
  /** Vectors so far; 0 for generations. */
  vectors: number;
  /** The fraction of the prompt that was read, if the engine reports it and there is no output yet. */
  promptRead: number | undefined;
}

export interface AgentSnapshot {
  state: AgentState;
  /** How many jobs can run at once now: 0 while no engine answers. */
  slots: number;
  /** How many its engine would take: more than `slots` where it left long pauses between tokens. */
  slotsMax: number;
  /** Slots taken, by running jobs and by jobs whose pieces still come. */
  busy: number;
  /** The models served now: those elected, less those whose engine is unreachable. */
  models: string[];
  /** Every model this node elected. */
  elected: string[];
  /** Since the agent started. */
  jobsDone: number;
  jobsFailed: number;
  jobsCancelled: number;
  jobsRefused: number;
  /** Over the last ten seconds, estimated at four characters a token: the gateway counts, the agent does not. */
  tokensPerSecond: number;
  running: RunningJob[];
}
