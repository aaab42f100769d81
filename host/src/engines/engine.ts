/**
 * The port between the agent and an engine. An engine runs several jobs at once, up to its slots, and writes output to
 * a sink. Only the gateway counts tokens for billing.
 */
import type {
  Endpoint,
  OutputChannel,
  OutputFormat,
  Sampling,
  ScoringKind,
  ScoringRequest,
} from "@tollgate/protocol/frames.ts";

export interface ChatMessage {
  role: string;
  content: string;
}

export interface GenerationJob {
  /** The job's ID on the wire: the request ID's suffix and the attempt's number, which starts at 1. */
  id: string;
  attempt: number;
  /** The model's ID in the catalogue, such as `reason-32b`. */
  model: string;
  endpoint: Exclude<Endpoint, "embedding">;
  input: { messages: ChatMessage[] } | { prompt: string };
  sampling: Sampling;
  outputTokensMax: number;
  /** The required format of the answer. Only set for models whose engine passed the format check. */
  format?: OutputFormat | undefined;
  /** Whether output can be sent in larger parts, because the client does not stream. */
  gathers?: boolean | undefined;
  score?: ScoringRequest | undefined;
}

/** A job in which the engine scores another node's answer and generates nothing. */
export interface ScoringJob extends GenerationJob {
  score: ScoringRequest;
}

/** Natural logarithms of the probabilities, as in the protocol's `scored` frame. */
export type Logprobs = (number | null)[];

export interface EmbeddingJob {
  id: string;
  attempt: number;
  model: string;
  endpoint: "embedding";
  input: string[];
}

export type EngineJob = GenerationJob | EmbeddingJob;
export type FinishReason = "stop" | "length";

export interface OutputSink {
  delta(channel: OutputChannel, text: string): void;
  /**
   * Reports the processed fraction of the prompt, 0 to 1. Until the first output, this shows the gateway that the
   * engine is working.
   */
  progress(fraction: number): void;
}

/**
 * The engine could not serve the job. The agent reports this as a `failed` frame, so the message contains no prompt or
 * output.
 */
export class EngineError extends Error {
  override name = "EngineError";
  readonly blame: "engine" | "prompt";
  constructor(blame: "engine" | "prompt", message: string, options?: ErrorOptions) {
    super(message, options);
    this.blame = blame;
  }
}

/** The models and slots that an engine offers now. */
export interface EngineAvailability {
  /** The number of jobs that the engine runs at once; 0 while it is unreachable. */
  slots: number;
  /**
   * The number of jobs that the engine accepts. Only set if `slots` was reduced because of long gaps between tokens.
   */
  slotsMax?: number;
  models: string[];
}

export interface Engine {
  /** The name for logs and screens, such as `demo`, `scripted` or `ollama at 127.0.0.1:11434`. */
  readonly name: string;
  /** The number of jobs that the engine runs at once. */
  readonly slots: number;
  /** The requested catalogue models that the engine can serve. */
  readonly models: string[];
  /** Notes for the host, one line each, such as a context that is too short or an estimated number of slots. */
  readonly notes?: readonly string[];
  /**
   * Reports every change of the offered models and slots until the returned function is called. Until the first report,
   * `slots` and `models` apply. Only for engines that can become unreachable and return.
   */
  watch?(changed: (now: EngineAvailability) => void): () => void;
  /**
   * The model's token IDs for a text, without added tokens. Undefined if the engine does not report them. Not used for
   * billing, but to test whether this engine and the gateway count the same tokens.
   */
  tokens?(model: string, text: string): Promise<number[] | undefined>;
  /**
   * The engine's token count of a chat, including its template. Undefined if the engine does not report it; rejects
   * with EngineError. Not used for billing.
   */
  chatTokens?(model: string, messages: ChatMessage[], signal: AbortSignal): Promise<number | undefined>;
  /**
   * Tests whether the engine enforces output formats for the model: a short generation whose prompt asks for an answer
   * that the format forbids. Rejects if the engine does not answer. Absent for engines without output formats.
   */
  keepsFormat?(model: string): Promise<boolean>;
  /** The JSON Schema keywords that the engine enforces for a model. Undefined if they are unknown. */
  schemaKeywords?(model: string): readonly string[] | undefined;
  /**
   * Tests how the engine scores answers with this model. Undefined if it cannot with this model; rejects if the engine
   * does not answer. The method is absent for engines that cannot score with any model.
   */
  scoring?(model: string): Promise<ScoringKind | undefined>;
  /**
   * Scores an answer. Only called if `scoring` found a way. Rejects with EngineError. Resolves early when `signal`
   * aborts.
   */
  score?(job: ScoringJob, sink: Pick<OutputSink, "progress">, signal: AbortSignal): Promise<Logprobs>;
  /** Returns true if the engine cannot take this job now, even if a slot is free. Called before the job is accepted. */
  refuses?(job: EngineJob): boolean;
  /**
   * Generates an answer. Resolves when it is complete; rejects with EngineError. Resolves early when `signal` aborts.
   */
  generate(job: GenerationJob, sink: OutputSink, signal: AbortSignal): Promise<{ finish: FinishReason }>;
  /** Yields one vector per input, in order. Ends early when `signal` aborts. */
  embed(job: EmbeddingJob, sink: Pick<OutputSink, "progress">, signal: AbortSignal): AsyncIterable<Float32Array>;
  close(): Promise<void>;
}
