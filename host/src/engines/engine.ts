/**
 * The port between the agent and an engine. An engine runs jobs, several at once up to its slots, and writes to a sink. It never counts
 * tokens for billing: the gateway does.
 */
import type { Channel, Endpoint, OutputFormat, Sampling, Score, ScoringKind } from "@tollgate/protocol/frames.ts";

export interface ChatMessage {
  role: string;
  content: string;
}

export interface GenerationJob {
  /** The job's ID on the wire: the request's suffix and the number of the attempt, from 1. */
  id: string;
  attempt: number;
  /** The catalogue's model id, e.g. `reason-32b`. */
  model: string;
  endpoint: Exclude<Endpoint, "embedding">;
  input: { messages: ChatMessage[] } | { prompt: string };
  sampling: Sampling;
  outputTokensMax: number;
  /** The required format of the answer. Only for models whose engine passed the format check. */
  format?: OutputFormat | undefined;
  /** The client does not stream, so output can be sent in larger parts. */
  gathers?: boolean | undefined;
  score?: Score | undefined;
}

/** Another node's answer: the engine scores it and generates nothing. */
export interface ScoringJob extends GenerationJob {
  score: Score;
}

/** Natural logarithms of probabilities, as in the `scored` frame. */
export type Logprobs = (number | null)[];

export interface EmbeddingJob {
  id: string;
  attempt: number;
  model: string;
  endpoint: "embedding";
  input: string[];
}

export type EngineJob = GenerationJob | EmbeddingJob;
export type Finish = "stop" | "length";

export interface Sink {
  delta(channel: Channel, text: string): void;
  /** Prefill progress, 0 to 1. Until the first output it tells the gateway that the engine is working. */
  progress(fraction: number): void;
}

/** The engine could not serve the job, which is reported as a `failed` frame. The message contains no prompt or output. */
export class EngineError extends Error {
  override name = "EngineError";
  readonly blame: "engine" | "prompt";
  constructor(blame: "engine" | "prompt", message: string, options?: ErrorOptions) {
    super(message, options);
    this.blame = blame;
  }
}

/** An engine's current abilities. */
export interface Availability {
  /** The number of jobs that it runs at once; 0 while it is unreachable. */
  slots: number;
  /** The number that it accepts, if it gets fewer jobs because it left long gaps between tokens. */
  slotsMax?: number;
  models: string[];
}

export interface Engine {
  /** The name for logs and screens: `demo`, `scripted`, `ollama at 127.0.0.1:11434`. */
  readonly name: string;
  /** How many jobs it runs at once. */
  readonly slots: number;
  /** The catalogue models it can serve, of those it was asked for. */
  readonly models: string[];
  /** Notes for the host, one line each: a context that is too short, slots that are a guess. */
  readonly notes?: readonly string[];
  /**
   * Only for engines that can become unreachable and return: reports every change of their abilities until the returned function is called.
   * Until the first report `slots` and `models` apply.
   */
  watch?(changed: (now: Availability) => void): () => void;
  /**
   * The model's token IDs for a text, without added tokens. Undefined if the engine does not report them. Not used for billing: they show
   * whether the gateway counts like this engine.
   */
  tokens?(model: string, text: string): Promise<number[] | undefined>;
  /**
   * The engine's token count of a chat, including its template. Undefined if it does not report it; rejects with EngineError. Not used for
   * billing.
   */
  chatTokens?(model: string, messages: ChatMessage[], signal: AbortSignal): Promise<number | undefined>;
  /**
   * Whether the engine enforces output formats for the model, by a short generation that asks for something else. Rejects if the engine
   * does not answer. Absent: it cannot.
   */
  keepsFormat?(model: string): Promise<boolean>;
  /** The JSON Schema keywords that it enforces for a model with formats. Undefined: unknown. */
  schemaKeywords?(model: string): readonly string[] | undefined;
  /** How the engine scores an answer of the model, by a test. Undefined if it cannot; rejects if it does not answer. Absent: it cannot. */
  scoring?(model: string): Promise<ScoringKind | undefined>;
  /** Only if `scoring` found a way. Rejects with EngineError. Stops early and resolves when `signal` aborts. */
  score?(job: ScoringJob, sink: Pick<Sink, "progress">, signal: AbortSignal): Promise<Logprobs>;
  /** True: the engine cannot take this job now, although a slot is free. Called before the job is accepted. */
  refuses?(job: EngineJob): boolean;
  /** Resolves when the answer is whole; rejects with EngineError. Stops early and resolves when `signal` aborts. */
  generate(job: GenerationJob, sink: Sink, signal: AbortSignal): Promise<{ finish: Finish }>;
  /** Yields one vector per input, in order. Stops early when `signal` aborts. */
  embed(job: EmbeddingJob, sink: Pick<Sink, "progress">, signal: AbortSignal): AsyncIterable<Float32Array>;
  close(): Promise<void>;
}
