/**
 * A profile describes one kind of engine: how to recognize it, what it reports, and its API (the dialect). All other
 * HTTP code is shared.
 */
import type { OutputFormat, ScoringKind } from "@tollgate/protocol/frames.ts";
import type { FinishReason, GenerationJob, Logprobs, ScoringJob } from "../engine.ts";
import type { EngineHttp } from "../engine-http.ts";

export type EngineKindName = "ollama" | "llama-server" | "LM Studio" | "vLLM" | "MLX" | "engine";

/** A model as its engine describes it. Undefined fields are not reported. */
export interface EngineModel {
  /** The engine's name for the model. */
  name: string;
  /** The maximum number of tokens per request, as the model is loaded now. */
  contextTokens: number | undefined;
  loaded: boolean | undefined;
}

export interface EngineReport {
  models: EngineModel[];
  /** The number of concurrent requests, if reported. */
  slots: number | undefined;
  /**
   * If requests were waiting inside the engine: the number of requests that it was running, which is an estimate of the
   * most that it can run.
   */
  crowdedAt?: number | undefined;
}

/** The content of one event of an engine's stream. */
export interface StreamEvent {
  thinking?: string | undefined;
  answer?: string | undefined;
  /** The fraction of the prompt that the engine has read, 0 to 1. */
  promptRead?: number | undefined;
  /** The number of prompt tokens to read, if reported. */
  promptTokens?: number | undefined;
  finish?: FinishReason | undefined;
  /** Whether this is the last event of the stream. */
  last?: boolean | undefined;
}

export interface EngineRequest {
  path: string;
  body: Record<string, unknown>;
}

/** How requests to the engine are written, and how its responses are parsed. */
export interface EngineApiDialect {
  framing: "sse" | "ndjson";
  /** `contextTokens`: the model's context limit in the catalogue, if known. */
  generation(job: GenerationJob, model: string, contextTokens: number | undefined): EngineRequest;
  /**
   * The request fields that make the engine enforce a format. Undefined if the engine cannot do this at this endpoint.
   * Absent if it has no formats at all.
   */
  format?(format: OutputFormat, endpoint: GenerationJob["endpoint"]): Record<string, unknown> | undefined;
  /**
   * The request without an output cap, for engines that refuse a request whose prompt and cap together exceed the
   * context. Undefined if the engine would refuse the request without a cap too.
   */
  uncapped?(request: EngineRequest): EngineRequest;
  /** Parses an event of the stream. Throws EngineError for an error event. */
  read(data: string): StreamEvent;
  /** Parses a comment between events: some engines report progress there. */
  readComment?(comment: string): StreamEvent | undefined;
  embedding(model: string, input: string[], contextTokens: number | undefined): EngineRequest;
  /** Parses the vectors of a response. Throws EngineError. */
  vectors(text: string, count: number): Float32Array[];
}

export interface EngineScoring {
  kind: ScoringKind;
  /** Scores an answer. `model` is the engine's name for it. Throws EngineError. */
  score(http: EngineHttp, model: string, job: ScoringJob, signal: AbortSignal): Promise<Logprobs>;
}

export interface EngineProfile {
  kind: EngineKindName;
  /** The engine's default address. */
  usualAddress: string;
  /** The path of a cheap request that the engine answers even while it is busy. */
  healthPath: string;
  /**
   * The number of slots to assume if the engine does not report them. With too many, requests would queue inside the
   * engine and look stalled.
   */
  assumedSlots: number;
  /** Gets the engine's report. Undefined if another kind of engine answers, or the engine is not ready. */
  inspect(http: EngineHttp): Promise<EngineReport | undefined>;
  dialect: EngineApiDialect;
  /**
   * Whether the engine handles stop strings correctly: it returns the text before the string, neither the string nor
   * later text, and stops generating. For other engines, the agent looks for stop strings itself and does not send
   * them.
   */
  stopsExactly?: boolean;
  /** The JSON Schema keywords that the engine enforces. Absent if they are unknown. */
  schemaKeywords?: readonly string[];
  /** The token IDs of a text. Undefined if the engine cannot tokenize. */
  tokens?(http: EngineHttp, model: string, text: string): Promise<number[] | undefined>;
  /** How the engine scores a given answer. Absent if it cannot. */
  scoring?: EngineScoring;
  /** Notes for the host about this kind of engine, one line each. */
  caveats?: readonly string[];
}
