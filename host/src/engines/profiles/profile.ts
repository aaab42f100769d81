/** A profile describes one kind of engine: how to recognise it, what it reports, and its dialect. All other HTTP code is shared. */
import type { OutputFormat, ScoringKind } from "@tollgate/protocol/frames.ts";
import type { Finish, GenerationJob, Logprobs, ScoringJob } from "../engine.ts";
import type { EngineHttp } from "../engine-http.ts";

export type EngineKindName = "ollama" | "llama-server" | "LM Studio" | "vLLM" | "MLX" | "engine";

/** A model as its engine describes it. Undefined: not reported. */
export interface EngineModel {
  /** The engine's name for it. */
  name: string;
  /** How many tokens a request may hold, as it is loaded now. */
  contextTokens: number | undefined;
  loaded: boolean | undefined;
}

export interface EngineFacts {
  models: EngineModel[];
  /** The number of concurrent requests, if reported. */
  slots: number | undefined;
  /** Requests wait inside it now, so that it runs no more than these at once. */
  crowdedAt?: number | undefined;
}

/** The content of one event of an engine's stream. */
export interface StreamEvent {
  thinking?: string | undefined;
  answer?: string | undefined;
  /** How much of the prompt is read, 0 to 1. */
  promptRead?: number | undefined;
  /** The number of prompt tokens to read, if reported. */
  promptTokens?: number | undefined;
  finish?: Finish | undefined;
  /** Nothing comes after it. */
  last?: boolean | undefined;
}

export interface EngineRequest {
  path: string;
  body: Record<string, unknown>;
}

/** How jobs are put and answers read. */
export interface Dialect {
  framing: "sse" | "ndjson";
  /** `contextTokens`: what the catalogue promises for the model, if it is known. */
  generation(job: GenerationJob, model: string, contextTokens: number | undefined): EngineRequest;
  /**
   * The fields of a request that make the engine keep to a format; undefined where it cannot at this endpoint. Absent where
   * it cannot at all.
   */
  format?(format: OutputFormat, endpoint: GenerationJob["endpoint"]): Record<string, unknown> | undefined;
  /**
   * The same request without an output cap, for engines that refuse a cap that does not fit beside the prompt instead of
   * lowering it; undefined where that does not help.
   */
  uncapped?(request: EngineRequest): EngineRequest;
  /** One event of the stream. Throws EngineError. */
  read(data: string): StreamEvent;
  /** A comment between the events: some engines put their progress there. */
  readComment?(comment: string): StreamEvent | undefined;
  embedding(model: string, input: string[], contextTokens: number | undefined): EngineRequest;
  /** The vectors of one answer. Throws EngineError. */
  vectors(text: string, count: number): Float32Array[];
}

export interface EngineScoring {
  kind: ScoringKind;
  /** `model`: the engine's name for it. Throws EngineError. */
  score(http: EngineHttp, model: string, job: ScoringJob, signal: AbortSignal): Promise<Logprobs>;
}

export interface EngineProfile {
  kind: EngineKindName;
  /** Its default address. */
  usualAddress: string;
  /** A cheap question that it answers while it works. */
  healthPath: string;
  /** The assumed slots if it does not report them. Too many would queue inside the engine and look stalled. */
  assumedSlots: number;
  /** The engine's report; undefined if this is another engine or not ready. */
  inspect(http: EngineHttp): Promise<EngineFacts | undefined>;
  dialect: Dialect;
  /**
   * It stops at stop strings just as it should: what comes before is said, the string and what follows is not, and nothing
   * more is generated. Elsewhere it is not told of them, and the agent alone looks for them.
   */
  stopsExactly?: boolean;
  /** The keywords of JSON Schema that it enforces. Absent: no one knows. */
  schemaKeywords?: readonly string[];
  /** The token ids of a text; undefined if it cannot tokenise. */
  tokens?(http: EngineHttp, model: string, text: string): Promise<number[] | undefined>;
  /** How it scores a given answer. Absent: it cannot. */
  scoring?: EngineScoring;
  /** Notes for the host, one line each. */
  caveats?: readonly string[];
}
