/** A request as the dispatcher receives it, and the sink that receives the output of its attempts. */
import type { JobBody, JobHeader, OutputChannel } from "@tollgate/protocol/frames.ts";
import type { KeywordUse } from "@tollgate/protocol/json-schema.ts";

export interface DispatchRequest {
  /** The 26 characters of the request ID. */
  request: string;
  header: Pick<JobHeader, "model" | "endpoint" | "stream" | "output_tokens_max" | "sampling">;
  /** The job's body; bytes if it is already encoded. */
  body: JobBody | Uint8Array;
  /** Whether the body has an output format. Undefined: no. */
  formatted?: boolean;
  /** The JSON Schema keywords that the node's engine must enforce. Undefined: none. */
  keywords?: readonly KeywordUse[];
  /** Whether only nodes with many spot-checked answers may serve the request. Undefined: no. */
  proven?: boolean;
  /**
   * The account and the number of prompt tokens, which help to decide whether a node that refuses a prompt is at fault.
   * Undefined for the platform's own jobs.
   */
  origin?: { accountId: string; promptTokens: number };
}

/**
 * Receives output. `enough`: no more is needed, so the node is stopped. `broken`: the node sent output that was not
 * requested.
 */
export interface DispatchSink {
  /** A node accepted. Output of an earlier attempt is discarded. Never called after output has reached the client. */
  begin(nodeId: string): void;
  delta(channel: OutputChannel, text: string): "more" | "enough" | "broken";
  vectors(first: number, width: number, values: Float32Array): "more" | "broken";
  /** Receives the node's log probabilities for the tokens of a given answer. Undefined: not requested. */
  scored?(logprobs: readonly (number | null)[]): "more" | "broken";
  /**
   * The node finished, or was stopped because the sink has enough. Returns whether there was any output, or `broken` if
   * some is missing.
   */
  finished(): "answered" | "empty" | "broken";
  /** Whether output has reached the client. Then the request is not retried, because that would mix two answers. */
  readonly reachedClient: boolean;
}
