/**
 * The messages (frames) between gateway and node. Control frames are JSON that these schemas check. The most frequent
 * kinds (`piece`, `deltas`, `timed`, `vectors`) are binary; frame-codec.ts defines their layout.
 *
 * The frames of one job (* means any number):
 *   gateway: job, piece*            (pieces if the body exceeds one piece, or follows the acceptance)
 *   node:    busy                   the node refuses the job, which costs the request nothing
 *        or  accepted, progress*, (deltas | timed | vectors)*, done | failed
 *        or  accepted, progress*, scored, done | failed     if the body contains an answer to score
 *   gateway: cancel                 at any time; the node stops and sends nothing more for that job
 *
 * `seq` (the sequence number) is 0 in a job's first output frame and grows by one with every delta, vectors, scored,
 * done and failed. A gap proves that the plane lost a message, so the job fails. A delta without text only takes a
 * number: it counts neither as output nor as a sign that the engine is working.
 *
 * No frame contains a token count. Only the gateway counts tokens, so a node cannot influence the count.
 */
import { z } from "zod";
import { FAILURE_MESSAGE_CHARS_MAX, JOB_BODY_BYTES_MAX, JOB_PIECES_MAX, SCORES_PER_FRAME_MAX } from "./frame-limits.ts";

/**
 * The format of a job ID: `<request ID suffix>-<attempt, two digits>`. It is unique per attempt, so that late frames of
 * an abandoned attempt can be recognized.
 */
export const JOB_ID_PATTERN = /^[0-9a-z]{26}-[0-9]{2}$/;
const JobId = z.string().regex(JOB_ID_PATTERN);
const Id = z.string().regex(/^[0-9A-Za-z_]{1,64}$/);
const ModelId = z.string().min(1).max(64);
const Seq = z
  .int()
  .min(0)
  .max(2 ** 31);

export const Sampling = z.object({
  temperature: z.number().optional(),
  top_p: z.number().optional(),
  presence_penalty: z.number().optional(),
  frequency_penalty: z.number().optional(),
  seed: z.number().refine(Number.isInteger).optional(),
  stop: z.array(z.string()).max(4).optional(),
});
export type Sampling = z.infer<typeof Sampling>;

export const Endpoint = z.enum(["chat", "completion", "embedding"]);
export type Endpoint = z.infer<typeof Endpoint>;

export const JobHeader = z.object({
  job: JobId,
  gateway: Id,
  model: ModelId,
  endpoint: Endpoint,
  /** Whether the client streams. If not, the agent may send fewer and larger deltas. */
  stream: z.boolean(),
  /**
   * The output cap, 0 for embeddings. The gateway enforces it. An engine that counts the same tokens may also stop
   * there by itself.
   */
  output_tokens_max: z.int().min(0),
  sampling: Sampling,
  /** Whether the gateway understands `timed` frames. Agents of version 1.0 ignore the field and send `deltas`. */
  times: z.boolean().optional(),
  /**
   * The body's length in UTF-8 bytes, and the number of frames that carry it, including this one. If this frame carries
   * none of the body, the rest follows after the node's acceptance.
   */
  body_bytes: z.int().min(2).max(JOB_BODY_BYTES_MAX),
  pieces: z.int().min(1).max(JOB_PIECES_MAX),
});
export type JobHeader = z.infer<typeof JobHeader>;

/**
 * The output format that the engine must enforce: any JSON object, or JSON that matches a schema. It is not part of the
 * prompt.
 */
export const OutputFormat = z.discriminatedUnion("type", [
  z.object({ type: z.literal("json_object") }),
  z.object({
    type: z.literal("json_schema"),
    name: z.string(),
    schema: z.record(z.string(), z.unknown()),
    strict: z.boolean().optional(),
  }),
]);
export type OutputFormat = z.infer<typeof OutputFormat>;

/**
 * An answer for the node to score: the node generates nothing and reports in a `scored` frame how likely its engine
 * finds this answer to the prompt. `cuts`: ascending positions in `answer`, in UTF-16 code units. Engines that can only
 * report the likeliest next tokens do so at each of them.
 */
export const ScoringRequest = z.object({
  answer: z.string(),
  cuts: z.array(z.int().min(0)).max(SCORES_PER_FRAME_MAX).optional(),
});
export type ScoringRequest = z.infer<typeof ScoringRequest>;

/**
 * The body of a job, one schema per endpoint. The node joins it from the `job` frame's piece and the `piece` frames,
 * and parses it as JSON.
 */
export const ChatBody = z.object({
  messages: z.array(z.object({ role: z.string(), content: z.string() })),
  /** Only sent to nodes that announced the model under `json_schema`. Other nodes do not know the field. */
  format: OutputFormat.optional(),
  /** Only sent to nodes that announced the model under `scores`. */
  score: ScoringRequest.optional(),
});
export const CompletionBody = z.object({
  prompt: z.string(),
  format: OutputFormat.optional(),
  score: ScoringRequest.optional(),
});
export const EmbeddingBody = z.object({ input: z.array(z.string()) });
export type ChatBody = z.infer<typeof ChatBody>;
export type CompletionBody = z.infer<typeof CompletionBody>;
export type EmbeddingBody = z.infer<typeof EmbeddingBody>;
export type JobBody = ChatBody | CompletionBody | EmbeddingBody;

export const AcceptedFrame = z.object({ job: JobId });
export const BusyFrame = z.object({ job: JobId });
/**
 * The fraction of the prompt that the engine has read. Gateways accept this as proof that the engine is working, but
 * only for a limited time.
 */
export const ProgressFrame = z.object({ job: JobId, fraction: z.number().min(0).max(1) });
export const DoneFrame = z.object({ job: JobId, seq: Seq, finish: z.enum(["stop", "length"]) });
export const FailedFrame = z.object({
  job: JobId,
  seq: Seq,
  /** `engine`: the engine failed. `prompt`: the engine cannot process this prompt. `agent`: the agent itself failed. */
  cause: z.enum(["engine", "prompt", "agent"]),
  /** A message for debugging an agent. Gateways discard it unread, because it might contain a prompt. */
  message: z.string().max(FAILURE_MESSAGE_CHARS_MAX),
});
/**
 * Natural logarithms of probabilities: of each token of the answer, or, with `cuts`, of the token after each cut. Null
 * for a token that is not among the likeliest.
 */
export const ScoredFrame = z.object({
  job: JobId,
  seq: Seq,
  logprobs: z.array(z.number().max(0).nullable()).max(SCORES_PER_FRAME_MAX),
});
export const CancelFrame = z.object({ job: JobId });
/**
 * How an engine scores an answer. `text`: it computes the probabilities of all tokens. `next`: it reports the likeliest
 * next tokens at given positions.
 */
export const ScoringKind = z.enum(["text", "next"]);
export type ScoringKind = z.infer<typeof ScoringKind>;
export const NodeState = z.object({
  /** The version of this protocol that the agent implements, as `major.minor`. */
  protocol: z.string().regex(/^\d{1,3}\.\d{1,3}$/),
  agent: z.string().max(64),
  slots: z.int().min(0).max(4096),
  /**
   * The number of requests that the node's engine accepts. Only present if the agent offers fewer slots, because of
   * long pauses between tokens.
   */
  slots_max: z.int().min(0).max(4096).optional(),
  busy: z.int().min(0).max(4096),
  models: z.array(ModelId).max(256),
  /** The models whose engine has passed the format check (it enforces output formats) since it started. */
  json_schema: z.array(ModelId).max(256).optional(),
  /** The JSON Schema keywords that the engines of all models in `json_schema` enforce. Absent if they are unknown. */
  schema_keywords: z.array(z.string().min(1).max(40)).max(100).optional(),
  /** The models whose engine can score an answer, and how. */
  scores: z.record(ModelId, ScoringKind).optional(),
  /** Whether the agent accepts a job at its first frame and then waits for the rest of the body. */
  accepts_early: z.boolean().optional(),
  /** Whether the agent only finishes running jobs and refuses new ones. */
  draining: z.boolean(),
});
export type DoneFrame = z.infer<typeof DoneFrame>;
export type FailedFrame = z.infer<typeof FailedFrame>;
export type ScoredFrame = z.infer<typeof ScoredFrame>;
export type NodeState = z.infer<typeof NodeState>;

export type OutputChannel = "answer" | "reasoning";
export interface Delta {
  job: string;
  seq: number;
  channel: OutputChannel;
  text: string;
}
/**
 * A delta with the times of its first and last token, measured by the node in milliseconds since it accepted the job.
 * An agent does not join tokens across a pause of more than a second, so deltas hide no pause that matters.
 */
export interface TimedDelta extends Delta {
  firstMs: number;
  lastMs: number;
}

/** A decoded frame. */
export type Frame =
  | { kind: "job"; header: JobHeader; piece: Uint8Array }
  | { kind: "piece"; job: string; index: number; piece: Uint8Array }
  | { kind: "cancel"; job: string }
  | { kind: "accepted"; job: string }
  | { kind: "busy"; job: string }
  | { kind: "progress"; job: string; fraction: number }
  | { kind: "deltas"; deltas: Delta[] }
  | { kind: "timed"; deltas: TimedDelta[] }
  | { kind: "vectors"; job: string; seq: number; first: number; width: number; values: Float32Array }
  | ({ kind: "done" } & DoneFrame)
  | ({ kind: "failed" } & FailedFrame)
  | ({ kind: "scored" } & ScoredFrame)
  | { kind: "state"; state: NodeState }
  /** A kind of frame that a later minor version defines. Receivers ignore it. */
  | { kind: "unknown"; code: number };
