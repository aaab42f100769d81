/** What a request asks of dispatch, and where the output of its attempts goes. */
import type { Channel, JobBody, JobHeader } from "@tollgate/protocol/frames.ts";
import type { KeywordUse } from "@tollgate/protocol/json-schema.ts";

export interface DispatchOrder {
  /** The request's 26 characters. */
  request: string;
  header: Pick<JobHeader, "model" | "endpoint" | "stream" | "output_tokens_max" | "sampling">;
  /** Encoded where that was done already. */
  body: JobBody | Uint8Array;
  /** The body asks for an output format. Absent: it does not. */
  formatted?: boolean;
  /** What of the format's schema the node's engine must enforce. Absent: nothing beyond the format itself. */
  keywords?: readonly KeywordUse[];
  /** Only for nodes many of whose answers were checked. Absent: for any. */
  proven?: boolean;
  /**
   * Whose request it is and how long its prompt: whether a node that refuses a prompt is to blame depends on it. Absent for
   * the platform's own jobs.
   */
  origin?: { accountId: string; promptTokens: number };
}

/**
 * Where output goes. `enough` stops the node. `broken` says that the node gave what no one asked for.
 */
export interface DispatchSink {
  /** A node accepted: what an earlier attempt gave is void. Never called after output reached the client. */
  begin(nodeId: string): void;
  delta(channel: Channel, text: string): "more" | "enough" | "broken";
  vectors(first: number, width: number, values: Float32Array): "more" | "broken";
  /** How likely the node finds each token of an answer that it was given. Absent: no one asked. */
  scored?(logprobs: readonly (number | null)[]): "more" | "broken";
  /**
   * The node is done, or was stopped because there is enough. Whether there was one token of output or more; `broken` when
   * the node owes something.
   */
  finished(): "answered" | "empty" | "broken";
  /** Whether any output has reached the client, so that another attempt would mix two answers. */
  readonly reachedClient: boolean;
}
