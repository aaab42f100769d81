/** A job as a simulated node sees it: the node's own record, which the auditor reads, and its state while it runs. */
import type { JobHeader } from "../../protocol/src/frames.ts";

/** The node's own record of a job. */
export interface SimulatedJob {
  job: string;
  nodeId: string;
  offeredMs: number;
  accepted: boolean;
  /** All output that the node sent, in order: thinking, answer text, vectors. */
  thought: string;
  said: string;
  vectors: Float32Array[];
  /** Whether the output can be counted in words; false if it contains long runs of spaces. */
  isCountable: boolean;
  /** Whether the request asked for an output format. */
  isFormatted: boolean;
  /** Whether a client sent the request; false for the platform's own jobs. */
  isRequest: boolean;
  /** Whether the job was a canary (a question with a known answer). */
  isCanary: boolean;
  /**
   * The state when the node accepted the job: how many other requests it was running, and its standing in the database.
   */
  beside: number;
  standing: "trusted" | "on probation" | "barred";
  /** Whether the node caused the failure. */
  isAtFault: boolean;
  /**
   * Whether the node reported that its engine cannot take the prompt or its output format, which does not count as a
   * failure of the node.
   */
  refusedPrompt: boolean;
  /** When the node last accepted the job or sent output for it. */
  aliveMs: number;
  endedMs: number | null;
  end: "done" | "failed" | "broken" | "silent" | "dropped" | "cancelled" | "busy" | "running";
}

export interface JobText {
  messages?: { content: string }[];
  prompt?: string;
  input?: string[];
  format?: object;
}

/** A job that the node runs. */
export interface RunningJob {
  header: JobHeader;
  body: JobText;
  facts: SimulatedJob;
  seq: number;
  acceptedMs: number;
  stop: () => void;
}

export const messagesOf = ({ messages, prompt }: JobText): { content: string }[] =>
  messages ?? (prompt === undefined ? [] : [{ content: prompt }]);
