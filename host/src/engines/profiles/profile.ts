/**
 * What is known of one kind of engine: how to recognise it, what it tells of itself, and in which dialect jobs are put to
 * it. Everything else about speaking to an engine over HTTP is the same for all of them.
 */
import type { OutputFormat, ScoringKind } from "@tollgate/protocol/frames.ts";
import type { Finish, GenerationJob, Logprobs, ScoringJob } from "../engine.ts";
import type { EngineHttp } from "../engine-http.ts";

export type EngineKindName = "ollama" | "llama-server" | "LM Studio" | "vLLM" | "MLX" | "engine";

/** One model, as its engine describes it. Undefined is what the engine does not tell. */
export interface EngineModel {
  /** The engine's name for it. */
  name: string;
  /** How many tokens a request may hold, as it is loaded now. */
  contextTokens: number | undefined;
  loaded: boolean | undefined;
}

export interface EngineFacts {
  models: EngineModel[];
  /** How many requests it runs at once, if it tells. */
  slots: number | undefined;
  /** Requests wait inside it now, so that it runs no more than these at once. */
  crowdedAt?: number | undefined;
}

/** What one event of an engine's stream says. */
export interface StreamEvent {
  thinking?: string | undefined;
  answer?: string | undefined;
  /** How much of the prompt is read, 0 to 1. */
  promptRead?: number | undefined;
  /** How many tokens of prompt it has to read, if it says so. */
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
  /** Where it listens unless it was told otherwise. */
  usualAddress: string;
  /** A cheap question that it answers while it works. */
  healthPath: string;
  /** Slots to assume where it does not tell; more than it has would queue inside it and seem stalled. */
  assumedSlots: number;
  /** What it tells of itself; undefined when this is another kind of engine, or none that is ready. */
  inspect(http: EngineHttp): Promise<EngineFacts | undefined>;
  dialect: Dialect;
  /**
   * It stops at stop strings just as it should: what comes before is said, the string and what follows is not, and nothing
   * more is generated. Elsewhere it is not told of them, and the agent alone looks for them.
   */
  stopsExactly?: boolean;
  /** The keywords of JSON Schema that it enforces. Absent: no one knows. */
  schemaKeywords?: readonly string[];
  /** The token ids of a text; undefined where it does not tell. */
  tokens?(http: EngineHttp, model: string, text: string): Promise<number[] | undefined>;
  /** How it says how likely an answer is that it did not write. Absent: it cannot. */
  scoring?: EngineScoring;
  /** What whoever runs it must know, in one line each. */
  caveats?: readonly string[];
}
