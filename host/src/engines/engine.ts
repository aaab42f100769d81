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
  /** The job's id on the wire: the request's, and which attempt of it this is (1 or more). */
  id: string;
  attempt: number;
  /** The catalogue's model id, e.g. `reason-32b`. */
  model: string;
  endpoint: Exclude<Endpoint, "embedding">;
  input: { messages: ChatMessage[] } | { prompt: string };
  sampling: Sampling;
  outputTokensMax: number;
  /** The form that the answer must have. Only for models that were seen to keep to one. */
  format?: OutputFormat | undefined;
  /** The client does not stream: what comes at once may be said at once. */
  gathers?: boolean | undefined;
  score?: Score | undefined;
}

/** Another node's answer: the engine scores it and generates nothing. */
export interface ScoringJob extends GenerationJob {
  score: Score;
}

/** Natural logarithms of probabilities, as the `scored` frame has them. */
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
  /** Prefill progress, 0 to 1. Tells the gateway that the engine is at work until the first output. */
  progress(fraction: number): void;
}

/** The engine could not serve the job; becomes a `failed` frame. The message holds no prompt or output text. */
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
  /** How many jobs it runs at once; 0 when it is unreachable. */
  slots: number;
  /** How many it would take, where it is given fewer because it left long gaps between tokens. */
  slotsMax?: number;
  models: string[];
}

export interface Engine {
  /** For logs and screens: `demo`, `scripted`, `ollama at 127.0.0.1:11434`. */
  readonly name: string;
  /** How many jobs it runs at once. */
  readonly slots: number;
  /** The catalogue models it can serve, of those it was asked for. */
  readonly models: string[];
  /** Notes for the host, one line each: a context that is too short, slots that are a guess. */
  readonly notes?: readonly string[];
  /**
   * Only where an engine can became unreachable and come back by itself: reports every change of what it can do, until the returned
   * function is called. Until the first report `slots` and `models` hold.
   */
  watch?(changed: (now: Availability) => void): () => void;
  /**
   * The token ids of a text in the tokenizer of that model, with none added around it. Undefined where the engine does
   * not tell. Nothing is billed by it: it only shows whether the gateway will count as this engine does.
   */
  tokens?(model: string, text: string): Promise<number[] | undefined>;
  /**
   * How many tokens the engine makes of a chat, its template's included. Undefined where it does not tell; rejects with
   * EngineError. Nothing is billed by it either.
   */
  chatTokens?(model: string, messages: ChatMessage[], signal: AbortSignal): Promise<number | undefined>;
  /**
   * Whether that model's answers keep to an output format, by a small generation that asks for something else. Rejects
   * where the engine did not answer. Absent: this engine cannot.
   */
  keepsFormat?(model: string): Promise<boolean>;
  /** The keywords of JSON Schema that it enforces for a model that keeps to formats. Undefined: no one knows. */
  schemaKeywords?(model: string): readonly string[] | undefined;
  /**
   * How the engine scores an answer of that model, by a try. Undefined where it cannot; rejects where it did not answer. Absent:
   * this engine cannot.
   */
  scoring?(model: string): Promise<ScoringKind | undefined>;
  /** Only where `scoring` found a way. Rejects with EngineError. Stops early and resolves when `signal` aborts. */
  score?(job: ScoringJob, sink: Pick<Sink, "progress">, signal: AbortSignal): Promise<Logprobs>;
  /** True: the engine will not take this job now, although a slot is free. Asked before the job is accepted. */
  refuses?(job: EngineJob): boolean;
  /** Resolves when the answer is whole; rejects with EngineError. Stops early and resolves when `signal` aborts. */
  generate(job: GenerationJob, sink: Sink, signal: AbortSignal): Promise<{ finish: Finish }>;
  /** Yields one vector per input, in order. Stops early when `signal` aborts. */
  embed(job: EmbeddingJob, sink: Pick<Sink, "progress">, signal: AbortSignal): AsyncIterable<Float32Array>;
  close(): Promise<void>;
}
