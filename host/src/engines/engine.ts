/**
 * The port between the agent and whatever generates text. An engine is told one job at a time (several at once up to its
 * slots) and speaks through a sink. It never counts tokens for anyone: the gateway does.
 */
import type { Channel, Endpoint, Sampling } from "@tollgate/protocol/frames.ts";

export interface ChatMessage {
  role: string;
  content: string;
}

export interface GenerationJob {
  /** The request's id without its attempt, and the attempt (1 or more). */
  request: string;
  attempt: number;
  /** The catalogue's model id, e.g. `reason-32b`. */
  model: string;
  endpoint: Exclude<Endpoint, "embedding">;
  input: { messages: ChatMessage[] } | { prompt: string };
  sampling: Sampling;
  outputTokensMax: number;
}

export interface EmbeddingJob {
  request: string;
  attempt: number;
  model: string;
  input: string[];
}

export interface Sink {
  delta(channel: Channel, text: string): void;
  /** Prefill progress, 0 to 1. */
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

export interface Engine {
  /** For logs and screens: `demo`, `scripted`, `ollama at 127.0.0.1:11434`. */
  readonly name: string;
  /** How many jobs it runs at once. */
  readonly slots: number;
  /** The catalogue models it can serve, of those it was asked for. */
  readonly models: string[];
  /** Resolves when the answer is whole; rejects with EngineError. Stops early and resolves when `signal` aborts. */
  generate(job: GenerationJob, sink: Sink, signal: AbortSignal): Promise<{ finish: "stop" | "length" }>;
  /** Yields one vector per input, in order. */
  embed(job: EmbeddingJob, signal: AbortSignal): AsyncIterable<Float32Array>;
  close(): Promise<void>;
}
