/** A profile describes one kind of engine: how to recognise it, what it reports, and its dialect. All other HTTP code is shared. */
import type { OutputFormat, ScoringKind } from "@tollgate/protocol/frames.ts";
import type { Finish, GenerationJob, Logprobs, ScoringJob } from "../engine.ts";
import type { EngineHttp } from "../engine-http.ts";

export type EngineKindName = "ollama" | "llama-server" | "LM Studio" | "vLLM" | "MLX" | "engine";

/** A model as its engine describes it. Undefined: not reported. */
export interface EngineModel {
  /** The engine's name for the model. */
  name: string;
  /** The maximum tokens of a request, as the model is loaded now. */
  contextTokens: number | undefined;
  loaded: boolean | undefined;
}

export interface EngineFacts {
  models: EngineModel[];
  /** The number of concurrent requests, if reported. */
  slots: number | undefined;
  /** Requests wait inside the engine now, so it cannot run more than this many. */
  crowdedAt?: number | undefined;
}

/** The content of one event of an engine's stream. */
export interface StreamEvent {
  thinking?: string | undefined;
  answer?: string | undefined;
  /** The fraction of the prompt that was read, 0 to 1. */
  promptRead?: number | undefined;
  /** The number of prompt tokens to read, if reported. */
  promptTokens?: number | undefined;
  finish?: Finish | undefined;
  /** The last event of the stream. */
  last?: boolean | undefined;
}

export interface EngineRequest {
  path: string;
  body: Record<string, unknown>;
}

/** How requests are written and responses parsed. */
export interface Dialect {
  framing: "sse" | "ndjson";
  /** `contextTokens`: the model's context in the catalogue, if known. */
  generation(job: GenerationJob, model: string, contextTokens: number | undefined): EngineRequest;
  /** The request fields that make the engine enforce a format; undefined if it cannot at this endpoint. Absent: it cannot at all. */
  format?(format: OutputFormat, endpoint: GenerationJob["endpoint"]): Record<string, unknown> | undefined;
  /**
   * The request without an output cap, for engines that refuse a cap that does not fit beside the prompt; undefined if that would not help.
   */
  uncapped?(request: EngineRequest): EngineRequest;
  /** Parses an event of the stream. Throws EngineError. */
  read(data: string): StreamEvent;
  /** Parses a comment between events: some engines report progress there. */
  readComment?(comment: string): StreamEvent | undefined;
  embedding(model: string, input: string[], contextTokens: number | undefined): EngineRequest;
  /** Parses the vectors of a response. Throws EngineError. */
  vectors(text: string, count: number): Float32Array[];
}

export interface EngineScoring {
  kind: ScoringKind;
  /** `model`: the engine's name for it. Throws EngineError. */
  score(http: EngineHttp, model: string, job: ScoringJob, signal: AbortSignal): Promise<Logprobs>;
}

export interface EngineProfile {
  kind: EngineKindName;
  /** The engine's default address. */
  usualAddress: string;
  /** A cheap request that it answers while it is busy. */
  healthPath: string;
  /** The assumed slots if it does not report them. Too many would queue inside the engine and look stalled. */
  assumedSlots: number;
  /** The engine's report; undefined if this is another engine or not ready. */
  inspect(http: EngineHttp): Promise<EngineFacts | undefined>;
  dialect: Dialect;
  /**
   * The engine handles stop strings correctly: it returns the text before, neither the string nor later text, and stops generating.
   * Otherwise stop strings are not sent to it, and only the agent looks for them.
   */
  stopsExactly?: boolean;
  /** The JSON Schema keywords that it enforces. Absent: unknown. */
  schemaKeywords?: readonly string[];
  /** The token IDs of a text; undefined if it cannot tokenise. */
  tokens?(http: EngineHttp, model: string, text: string): Promise<number[] | undefined>;
  /** How it scores a given answer. Absent: it cannot. */
  scoring?: EngineScoring;
  /** Notes for the host, one line each. */
  caveats?: readonly string[];
}
