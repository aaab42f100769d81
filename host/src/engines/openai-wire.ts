/** Requests and responses in the format of the OpenAI API. Token counts in responses are ignored. */
import type { OutputFormat } from "@tollgate/protocol/frames.ts";
import { z } from "zod";
import { parseJson } from "../read-response-body.ts";
import { type ChatMessage, EngineError, type FinishReason, type GenerationJob } from "./engine.ts";
import { toStreamError } from "./engine-http.ts";
import { toEngineSeed } from "./engine-seed.ts";
import type { EngineApiDialect, EngineRequest, StreamEvent } from "./profiles/engine-profile.ts";

const Piece = z.string().nullish();

/** An event of a chat or completion stream. Engines use three different field names for thinking. */
const Chunk = z.object({
  choices: z
    .array(
      z.object({
        text: Piece,
        delta: z.object({ content: Piece, reasoning_content: Piece, reasoning: Piece, thinking: Piece }).nullish(),
        finish_reason: z.string().nullish(),
      }),
    )
    .optional(),
  /** llama-server's progress in reading the prompt, sent if requested. */
  prompt_progress: z.object({ total: z.number(), processed: z.number() }).nullish(),
  error: z.unknown().optional(),
});
type Chunk = z.infer<typeof Chunk>;

const EmbeddingList = z.object({
  data: z.array(z.object({ index: z.int().min(0), embedding: z.union([z.array(z.number()), z.string()]) })),
});

/** `more`: fields to add to generation requests for this engine. */
export function makeOpenAiDialect(
  more: Record<string, unknown> = {},
  rest: Partial<EngineApiDialect> = {},
): EngineApiDialect {
  return {
    framing: "sse",
    generation: (job, model) => ({
      path: job.endpoint === "chat" ? "/v1/chat/completions" : "/v1/completions",
      body: {
        ...generationBody(job, model),
        ...more,
        ...(job.format === undefined ? {} : rest.format?.(job.format, job.endpoint)),
      },
    }),
    uncapped,
    read: (data) => (data === "[DONE]" ? { last: true } : eventOf(chunkOf(data))),
    embedding: (model, input) => ({ path: "/v1/embeddings", body: { model, input, encoding_format: "float" } }),
    vectors,
    ...rest,
  };
}

function generationBody(job: GenerationJob, model: string): Record<string, unknown> {
  const input =
    "prompt" in job.input ? { prompt: job.input.prompt } : { messages: job.input.messages.map(mapToKnownRole) };
  // Undefined fields are omitted from the JSON.
  return {
    model,
    ...input,
    // Requests always stream, because the gateway detects stalls by token times and bills the output before a failure.
    stream: true,
    max_tokens: job.outputTokensMax,
    temperature: job.sampling.temperature,
    top_p: job.sampling.top_p,
    presence_penalty: job.sampling.presence_penalty,
    frequency_penalty: job.sampling.frequency_penalty,
    seed: job.sampling.seed === undefined ? undefined : toEngineSeed(job.sampling.seed),
    stop: job.sampling.stop,
  };
}

/** Maps roles that the templates of local engines do not know to the older roles that mean the same. */
export function mapToKnownRole({ role, content }: ChatMessage): ChatMessage {
  if (role === "developer") return { role: "system", content };
  return { role: role === "function" ? "tool" : role, content };
}

/** An output format in the fields of the OpenAI API. */
export function toResponseFormat(format: OutputFormat): { response_format: object } {
  if (format.type === "json_object") return { response_format: format };
  const { type, ...schema } = format;
  return { response_format: { type, json_schema: schema } };
}

function uncapped({ path, body }: EngineRequest): EngineRequest {
  const { max_tokens: _cap, ...rest } = body;
  return { path, body: rest };
}

function chunkOf(data: string): Chunk {
  const result = Chunk.safeParse(parseJson(data));
  if (!result.success)
    throw new EngineError("engine", "the engine's stream has an event that is not a completion chunk");
  if (result.data.error != null) throw toStreamError(result.data.error);
  return result.data;
}

function eventOf(chunk: Chunk): StreamEvent {
  const progress = chunk.prompt_progress;
  const promptRead = progress && progress.total > 0 ? Math.min(1, progress.processed / progress.total) : undefined;
  const promptTokens = progress?.total;
  const choice = chunk.choices?.[0];
  if (choice === undefined) return { promptRead, promptTokens };
  const { delta } = choice;
  return {
    promptRead,
    promptTokens,
    thinking: delta?.reasoning_content || delta?.reasoning || delta?.thinking || undefined,
    answer: choice.text || delta?.content || undefined,
    finish: choice.finish_reason ? parseFinishReason(choice.finish_reason) : undefined,
  };
}

export const parseFinishReason = (reason: string): FinishReason => (reason === "length" ? "length" : "stop");

function vectors(text: string, count: number): Float32Array[] {
  const result = EmbeddingList.safeParse(parseJson(text));
  if (!result.success) throw new EngineError("engine", "the engine's embeddings are not in the OpenAI format");
  const inOrder = result.data.data.toSorted((a, b) => a.index - b.index);
  if (inOrder.length !== count || inOrder.some((entry, i) => entry.index !== i))
    throw new EngineError("engine", `the engine returned ${inOrder.length} vectors for ${count} inputs`);
  return inOrder.map((entry) => vectorOf(entry.embedding));
}

/** Reads a vector in the formats that engines use: numbers, or little-endian floats in base64. */
function vectorOf(embedding: number[] | string): Float32Array {
  if (typeof embedding !== "string") return Float32Array.from(embedding);
  const bytes = Buffer.from(embedding, "base64");
  if (bytes.length % 4 !== 0)
    throw new EngineError("engine", "the engine returned a vector that is not an array of floats");
  return Float32Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i));
}
