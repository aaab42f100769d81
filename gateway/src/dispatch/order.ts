/** A request as dispatch takes it, and the sink for the output of its attempts. */
import type { Channel, JobBody, JobHeader } from "@tollgate/protocol/frames.ts";
import type { KeywordUse } from "@tollgate/protocol/json-schema.ts";

export interface DispatchOrder {
  /** The request's 26 characters. */
  request: string;
  header: Pick<JobHeader, "model" | "endpoint" | "stream" | "output_tokens_max" | "sampling">;
  /** Already encoded, if the caller has done so. */
  body: JobBody | Uint8Array;
  /** The body asks for an output format. Absent: it does not. */
  formatted?: boolean;
  /** The schema keywords that the node's engine must enforce. Absent: only the format itself. */
  keywords?: readonly KeywordUse[];
  /** Only for nodes with many checked answers. Absent: any node. */
  proven?: boolean;
  /**
   * The account and the prompt's length. They decide whether a node that refuses a prompt is at fault. Absent for the platform's own jobs.
   */
  origin?: { accountId: string; promptTokens: number };
}

/** Receives output. `enough` stops the node. `broken`: the node sent something that was not asked for. */
export interface DispatchSink {
  /** A node accepted, so output of an earlier attempt is discarded. Never called after output reached the client. */
  begin(nodeId: string): void;
  delta(channel: Channel, text: string): "more" | "enough" | "broken";
  vectors(first: number, width: number, values: Float32Array): "more" | "broken";
  /** The node's log probabilities for the tokens of a given answer. Absent: not asked for. */
  scored?(logprobs: readonly (number | null)[]): "more" | "broken";
  /** The node is done, or was stopped because there is enough. Returns whether there was any output; `broken` when something is missing. */
  finished(): "answered" | "empty" | "broken";
  /** Whether any output has reached the client, so that another attempt would mix two answers. */
  readonly reachedClient: boolean;
}
