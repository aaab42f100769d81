/**
 * The messages between gateway and node. Control frames are JSON checked by these schemas; the hot kinds (`piece`, `deltas`,
 * `timed`, `vectors`) are binary and laid out in codec.ts.
 *
 * A job's life on the wire:
 *   gateway: job, piece*            (pieces only when the body exceeds one piece, or follows the acceptance)
 *   node:    busy                   the node will not run it; costs the request nothing
 *        or  accepted, progress*, (deltas | timed | vectors)*, done | failed
 *        or  accepted, progress*, scored, done | failed     where the body holds an answer to score
 *   gateway: cancel                 at any time; the node stops and sends nothing more for that job
 *
 * `seq` starts at 0 with the first output frame of a job and grows by one with every delta, vectors, scored, done and failed:
 * a gap means that the plane lost a message, and fails the job. A delta without text takes its number and means nothing
 * else: it is neither output nor a sign of life.
 *
 * Nothing in these frames carries a token count. The gateway counts; what a node claims has no way in.
 */
import { z } from "zod";
import { FAILURE_MESSAGE_CHARS_MAX, JOB_BODY_BYTES_MAX, JOB_PIECES_MAX, SCORES_MAX } from "./limits.ts";

/** `<request suffix>-<attempt, two digits>`: unique per attempt, so that late frames of an abandoned attempt can be recognised. */
export const JOB_ID_FORM = /^[0-9a-z]{26}-[0-9]{2}$/;
const JobId = z.string().regex(JOB_ID_FORM);
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
  /** Whether the client streams. If not, an agent may send fewer and larger deltas. */
  stream: z.boolean(),
  /** The output cap, which the gateway enforces; an engine that counts the same way may stop by itself. 0 for embeddings. */
  output_tokens_max: z.int().min(0),
  sampling: Sampling,
  /** The gateway understands `timed` frames. Agents of 1.0 do not know the field and send `deltas`. */
  times: z.boolean().optional(),
  /**
   * The body's UTF-8 length and the number of frames that carry it, including this one. If this one carries none of it, the rest follows
   * after the node's acceptance.
   */
  body_bytes: z.int().min(2).max(JOB_BODY_BYTES_MAX),
  pieces: z.int().min(1).max(JOB_PIECES_MAX),
});
export type JobHeader = z.infer<typeof JobHeader>;

/** The form that the engine must enforce: any JSON object, or what a JSON Schema allows. It is not part of the prompt. */
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
 * An answer to the prompt of the same body, to be scored. The node generates nothing and reports how likely its engine finds this text, in
 * one `scored` frame. `cuts`: ascending offsets into `answer` in UTF-16 units, for engines that only report the likeliest next tokens: they
 * are asked at each of them.
 */
export const Score = z.object({
  answer: z.string(),
  cuts: z.array(z.int().min(0)).max(SCORES_MAX).optional(),
});
export type Score = z.infer<typeof Score>;

/** The body of a job by endpoint: JSON, joined from its pieces. */
export const ChatBody = z.object({
  messages: z.array(z.object({ role: z.string(), content: z.string() })),
  /** Only for nodes that announced the model under `json_schema`; others do not know the field. */
  format: OutputFormat.optional(),
  /** Only for nodes that announced the model under `scores`. */
  score: Score.optional(),
});
export const CompletionBody = z.object({
  prompt: z.string(),
  format: OutputFormat.optional(),
  score: Score.optional(),
});
export const EmbeddingBody = z.object({ input: z.array(z.string()) });
export type ChatBody = z.infer<typeof ChatBody>;
export type CompletionBody = z.infer<typeof CompletionBody>;
export type EmbeddingBody = z.infer<typeof EmbeddingBody>;
export type JobBody = ChatBody | CompletionBody | EmbeddingBody;

export const Accepted = z.object({ job: JobId });
export const Busy = z.object({ job: JobId });
/** Prefill progress: the engine is reading the prompt. Counts as a sign of life, within limits. */
export const Progress = z.object({ job: JobId, fraction: z.number().min(0).max(1) });
export const Done = z.object({ job: JobId, seq: Seq, finish: z.enum(["stop", "length"]) });
export const Failed = z.object({
  job: JobId,
  seq: Seq,
  /** `engine`: the engine broke; `prompt`: the engine cannot take this prompt; `agent`: the agent itself failed. */
  cause: z.enum(["engine", "prompt", "agent"]),
  /** For debugging an agent. Gateways drop it unread, because they cannot know whether it contains a prompt. */
  message: z.string().max(FAILURE_MESSAGE_CHARS_MAX),
});
/**
 * Natural logarithms of probabilities: of each token of the answer, or, if the engine only reports the likeliest next tokens, of the token
 * after each cut. Null for a token that is not among those.
 */
export const Scored = z.object({
  job: JobId,
  seq: Seq,
  logprobs: z.array(z.number().max(0).nullable()).max(SCORES_MAX),
});
export const Cancel = z.object({ job: JobId });
/** How an engine scores a given text: the likelihood of all its tokens, or the likeliest next tokens. */
export const ScoringKind = z.enum(["text", "next"]);
export type ScoringKind = z.infer<typeof ScoringKind>;
export const NodeState = z.object({
  /** `major.minor` of this protocol that the agent speaks. */
  protocol: z.string().regex(/^\d{1,3}\.\d{1,3}$/),
  agent: z.string().max(64),
  slots: z.int().min(0).max(4096),
  /** The number of requests its engine accepts. Present if the agent gives it fewer, because it left long pauses between tokens. */
  slots_max: z.int().min(0).max(4096).optional(),
  busy: z.int().min(0).max(4096),
  models: z.array(ModelId).max(256),
  /** The models whose engine has passed the test for output formats since it started. */
  json_schema: z.array(ModelId).max(256).optional(),
  /** The JSON Schema keywords that every engine behind `json_schema` enforces. Absent: not reported. */
  schema_keywords: z.array(z.string().min(1).max(40)).max(100).optional(),
  /** The models whose engine can score a text, and how. */
  scores: z.record(ModelId, ScoringKind).optional(),
  /** The agent accepts a job at its first frame, and then waits for the rest of the body. */
  accepts_early: z.boolean().optional(),
  /** The agent finishes running jobs and refuses new ones. */
  draining: z.boolean(),
});
export type Done = z.infer<typeof Done>;
export type Failed = z.infer<typeof Failed>;
export type Scored = z.infer<typeof Scored>;
export type NodeState = z.infer<typeof NodeState>;

export type Channel = "answer" | "reasoning";
export interface Delta {
  job: string;
  seq: number;
  channel: Channel;
  text: string;
}
/**
 * A delta with the node's own times of its first and last token, in milliseconds since its acceptance of the job. An agent never joins
 * tokens across a pause of more than a second, so no relevant pause is hidden.
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
  | ({ kind: "done" } & Done)
  | ({ kind: "failed" } & Failed)
  | ({ kind: "scored" } & Scored)
  | { kind: "state"; state: NodeState }
  /** A kind of a later minor version, to be ignored. */
  | { kind: "unknown"; code: number };
