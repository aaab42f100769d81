/** Any engine that speaks the OpenAI dialect over HTTP: Ollama, llama-server, LM Studio, vLLM and others. */
import type { z } from "zod";
import type { Clock } from "../clock.ts";
import { parseJson, readText } from "../http-body.ts";
import { type EmbeddingJob, type Engine, EngineError, type Finish, type GenerationJob, type Sink } from "./engine.ts";
import { Chunk, EmbeddingList, generationBody, mentionsContext, refusal, vectorOf } from "./openai-wire.ts";
import { SseReader } from "./sse.ts";

const SLOTS = 4;
const ERROR_BYTES_MAX = 64 * 1024;
const EMBEDDING_BYTES_MAX = 16 * 1024 * 1024;
/** Small, so that vectors keep coming and the gateway does not take the node for stalled. */
const INPUTS_PER_CALL = 8;
/** While an engine loads a model or reads a prompt it says nothing; the gateway is told that it is at work. */
const PROGRESS_EVERY_MS = 1_000;

export interface OpenAiOptions {
  /** For logs and screens. */
  name: string;
  /** With or without `/v1`. */
  url: string;
  /** Catalogue id → the engine's name for the model. */
  models: ReadonlyMap<string, string>;
  apiKey?: string | undefined;
  slots?: number | undefined;
  /** The engine is llama-server, which can say how far it is with a long prompt. */
  tellsProgress?: boolean;
  clock: Clock;
}

export function openAiEngine(options: OpenAiOptions): Engine {
  const client = new Client(options);
  return {
    name: options.name,
    slots: options.slots ?? SLOTS,
    models: [...options.models.keys()],
    generate: (job, sink, signal) => quietOnAbort(signal, () => client.generate(job, sink, signal)),
    embed: (job, sink, signal) => client.embed(job, sink, signal),
    close: async () => {},
  };
}

/** `http://host:port/v1`, however the address was given. */
export function apiAddress(url: string): string {
  const trimmed = url.replace(/\/+$/, "");
  return trimmed.endsWith("/v1") ? trimmed : `${trimmed}/v1`;
}

async function quietOnAbort(signal: AbortSignal, run: () => Promise<{ finish: Finish }>): Promise<{ finish: Finish }> {
  try {
    return await run();
  } catch (error) {
    if (signal.aborted) return { finish: "stop" };
    throw error;
  }
}

class Client {
  readonly #options: OpenAiOptions;
  readonly #base: string;

  constructor(options: OpenAiOptions) {
    this.#options = options;
    this.#base = apiAddress(options.url);
  }

  async generate(job: GenerationJob, sink: Sink, signal: AbortSignal): Promise<{ finish: Finish }> {
    const path = job.endpoint === "chat" ? "/chat/completions" : "/completions";
    const tellsProgress = this.#options.tellsProgress ?? false;
    const body = generationBody(job, { model: this.#modelOf(job.model), tellsProgress });
    const stopProgress = this.#options.clock.every(PROGRESS_EVERY_MS, () => sink.progress(0));
    try {
      const response = await this.#startStream(path, body, signal);
      return await readStream(response, sink, stopProgress);
    } finally {
      stopProgress();
    }
  }

  async *embed(job: EmbeddingJob, sink: Pick<Sink, "progress">, signal: AbortSignal): AsyncGenerator<Float32Array> {
    const model = this.#modelOf(job.model);
    const stopProgress = this.#options.clock.every(PROGRESS_EVERY_MS, () => sink.progress(0));
    try {
      for (let at = 0; at < job.input.length && !signal.aborted; at += INPUTS_PER_CALL) {
        const input = job.input.slice(at, at + INPUTS_PER_CALL);
        const response = await this.#post("/embeddings", { model, input, encoding_format: "float" }, signal);
        yield* await readVectors(response, input.length);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      stopProgress();
    }
  }

  /**
   * Without `max_tokens` a request may use the model's whole context as output. Some engines (vLLM) refuse a cap that
   * does not fit beside the prompt instead of lowering it; asked again without one they use what is left.
   */
  async #startStream(path: string, body: Record<string, unknown>, signal: AbortSignal): Promise<Response> {
    const response = await this.#fetch(path, body, signal);
    if (response.ok) return response;
    const text = await textOf(response, ERROR_BYTES_MAX);
    if (response.status !== 400 || !mentionsContext(text)) throw refusal(response.status, text);
    return this.#post(path, { ...body, max_tokens: null }, signal);
  }

  async #post(path: string, body: object, signal: AbortSignal): Promise<Response> {
    const response = await this.#fetch(path, body, signal);
    if (!response.ok) throw refusal(response.status, await textOf(response, ERROR_BYTES_MAX));
    return response;
  }

  async #fetch(path: string, body: object, signal: AbortSignal): Promise<Response> {
    const { apiKey } = this.#options;
    try {
      return await fetch(`${this.#base}${path}`, {
        method: "POST",
        redirect: "error",
        signal,
        headers: {
          "content-type": "application/json",
          ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
        },
        body: JSON.stringify(body),
      });
    } catch (cause) {
      throw new EngineError("engine", "the engine does not answer", { cause });
    }
  }

  #modelOf(model: string): string {
    const name = this.#options.models.get(model);
    if (name === undefined) throw new EngineError("engine", `the engine has no model for ${model}`);
    return name;
  }
}

async function readStream(response: Response, sink: Sink, spoke: () => void): Promise<{ finish: Finish }> {
  const reader = new SseReader();
  let finish: Finish | undefined;
  const take = (events: readonly string[]): boolean => {
    for (const data of events) {
      if (data === "[DONE]") return true;
      finish = relay(chunkOf(data), sink, spoke) ?? finish;
    }
    return false;
  };
  for await (const bytes of bodyOf(response)) if (take(reader.push(bytes))) return { finish: finish ?? "stop" };
  take(reader.end());
  if (finish === undefined) throw new EngineError("engine", "the engine's stream ended in the middle");
  return { finish };
}

function chunkOf(data: string): Chunk {
  const result = Chunk.safeParse(parseJson(data));
  if (!result.success) throw new EngineError("engine", "the engine's stream holds something that is no chunk");
  if (result.data.error !== undefined) throw new EngineError("engine", "the engine reported an error in its stream");
  return result.data;
}

/** Passes one chunk on; returns how the answer ended if the chunk says so. */
function relay(chunk: Chunk, sink: Sink, spoke: () => void): Finish | undefined {
  const progress = chunk.prompt_progress;
  if (progress && progress.total > 0) sink.progress(Math.min(1, progress.processed / progress.total));
  const choice = chunk.choices?.[0];
  if (choice === undefined) return undefined;
  const { delta } = choice;
  const thinking = delta?.reasoning_content || delta?.reasoning || delta?.thinking;
  const answer = choice.text || delta?.content;
  if (thinking || answer) spoke();
  if (thinking) sink.delta("reasoning", thinking);
  if (answer) sink.delta("answer", answer);
  if (!choice.finish_reason) return undefined;
  return choice.finish_reason === "length" ? "length" : "stop";
}

async function readVectors(response: Response, count: number): Promise<Float32Array[]> {
  const result = parseAs(EmbeddingList, await textOf(response, EMBEDDING_BYTES_MAX));
  if (result === undefined) throw new EngineError("engine", "the engine's embeddings are not in the OpenAI form");
  const inOrder = result.data.toSorted((a, b) => a.index - b.index);
  if (inOrder.length !== count || inOrder.some((entry, i) => entry.index !== i))
    throw new EngineError("engine", `the engine gave ${inOrder.length} vectors for ${count} inputs`);
  return inOrder.map((entry) => vectorOf(entry.embedding));
}

function parseAs<T>(schema: z.ZodType<T>, text: string): T | undefined {
  const result = schema.safeParse(parseJson(text));
  return result.success ? result.data : undefined;
}

/** The whole answer; what keeps it from coming is the engine's failure. */
async function textOf(response: Response, bytesMax: number): Promise<string> {
  try {
    return await readText(response, bytesMax);
  } catch (cause) {
    throw new EngineError("engine", "the engine's answer did not come whole", { cause });
  }
}

/** The bytes of a response; a connection that breaks meanwhile is the engine's failure. */
async function* bodyOf(response: Response): AsyncGenerator<Uint8Array> {
  if (response.body === null) return;
  try {
    yield* response.body;
  } catch (cause) {
    throw new EngineError("engine", "the engine's connection broke", { cause });
  }
}
