/** The agent's current state for a screen, without text of prompts or answers. */
import type { Endpoint } from "@tollgate/protocol/frames.ts";

/**
 * `connecting`: connects to the plane, for the first time or again. `online`: gets jobs. `draining`: finishes running
 * jobs and refuses new ones. `stopped`: has disconnected permanently.
 */
export type AgentState = "connecting" | "online" | "draining" | "stopped";

export interface RunningJob {
  /** The job's ID on the wire: the request ID's suffix and the attempt's number. */
  job: string;
  /** The model's ID in the catalogue. */
  model: string;
  endpoint: Endpoint;
  /** Seconds since the job was accepted. */
  seconds: number;
  /** The length of the answer and thinking so far, in UTF-16 code units; 0 for embeddings. */
  outputChars: number;
  /** The number of vectors so far; 0 for generations. */
  vectors: number;
  /** The fraction of the prompt that the engine has processed, if the engine reports it and there is no output yet. */
  promptRead: number | undefined;
}

export interface AgentSnapshot {
  state: AgentState;
  /** The number of jobs that can run at once; 0 while no engine answers. */
  slots: number;
  /**
   * The number of jobs that the engine accepts. Larger than `slots` if the node reduced its slots because of long
   * pauses between tokens.
   */
  slotsMax: number;
  /** Slots in use, by running jobs and by jobs whose pieces are still arriving. */
  busy: number;
  /** The elected models whose engine is reachable. */
  models: string[];
  /** All models that this node elected (chose to serve). */
  elected: string[];
  /** The number of finished jobs since the agent's start. */
  jobsDone: number;
  jobsFailed: number;
  jobsCancelled: number;
  jobsRefused: number;
  /**
   * The average of the last ten seconds, estimated at four characters per token. Only the gateway counts tokens
   * exactly.
   */
  tokensPerSecond: number;
  running: RunningJob[];
}
