/** The agent's current state for a screen, without text of prompts or answers. */
import type { Endpoint } from "@tollgate/protocol/frames.ts";

/**
 * `connecting`: to the plane, for the first time or again. `online`: reachable for jobs. `draining`: finishes running jobs and refuses new
 * ones. `stopped`: has left permanently.
 */
export type AgentState = "connecting" | "online" | "draining" | "stopped";

export interface RunningJob {
  /** The job's ID on the wire: the request's suffix and the attempt's number. */
  job: string;
  /** The catalogue's model id. */
  model: string;
  endpoint: Endpoint;
  /** Seconds since the acceptance. */
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
  /** The number of jobs that can run at once; 0 while no engine answers. */
  slots: number;
  /** The number that the engine accepts: more than `slots` if it left long pauses between tokens. */
  slotsMax: number;
  /** Slots in use, by running jobs and by jobs whose pieces are still arriving. */
  busy: number;
  /** The elected models whose engine is reachable. */
  models: string[];
  /** Every model this node elected. */
  elected: string[];
  /** The number of finished jobs since the agent's start. */
  jobsDone: number;
  jobsFailed: number;
  jobsCancelled: number;
  jobsRefused: number;
  /** Over the last ten seconds, estimated at four characters a token: the gateway counts, the agent does not. */
  tokensPerSecond: number;
  running: RunningJob[];
}
