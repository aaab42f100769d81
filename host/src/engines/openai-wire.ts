/** What goes to an OpenAI-compatible engine and what may come back. Counts that it reports are not even parsed. */
import { z } from "zod";
import { parseJson } from "../http-body.ts";
import { type ChatMessage, EngineError, type GenerationJob } from "./engine.ts";

const Piece = z.string().nullish();

/** One event of a stream, of either generation endpoint. Engines name thinking in three ways. */
export const Chunk = z.object({
  choices: z
    .array(
      z.object({
        text: Piece,
        delta: z.object({ content: Piece, reasoning_content: Piece, reasoning: Piece, thinking: Piece }).nullish(),
        finish_reason: z.string().nullish(),
      }),
    )
    .optional(),
  /** llama-server, when asked: how much of the prompt it has read. */
  prompt_progress: z.object({ total: z.number(), processed: z.number() }).nullish(),
  error: z.unknown().optional(),
});
export type Chunk = z.infer<typeof Chunk>;

export const EmbeddingList = z.object({
  data: z.array(z.object({ index: z.int().min(0), embedding: z.union([z.array(z.number()), z.string()]) })),
});

const ErrorCode = z.object({ error: z.object({ code: z.unknown().optional(), type: z.unknown().optional() }) });

/** `tellsProgress`: the engine is llama-server, which can say how far it is with a long prompt. */
export function generationBody(
  job: GenerationJob,
  engine: { model: string; tellsProgress: boolean },
): Record<string, unknown> {
  const input = "prompt" in job.input ? { prompt: job.input.prompt } : { messages: job.input.messages.map(spoken) };
  // Fields left undefined are left out of the JSON.
  return {
    model: engine.model,
    ...input,
    stream: true,
    max_tokens: job.outputTokensMax,
    temperature: job.sampling.temperature,
    top_p: job.sampling.top_p,
    presence_penalty: job.sampling.presence_penalty,
    frequency_penalty: job.sampling.frequency_penalty,
    seed: job.sampling.seed,
    stop: job.sampling.stop,
    return_progress: engine.tellsProgress ? true : undefined,
  };
}

/** Roles that local engines' chat templates do not know, as the ones they stand for. */
function spoken({ role, content }: ChatMessage): ChatMessage {
  if (role === "developer") return { role: "system", content };
  return { role: role === "function" ? "tool" : role, content };
}

/**
 * An engine's refusal as an error. Its text may repeat the prompt, so only the status and a plain code are passed on; the
 * text decides whether the prompt was too long.
 */
export function refusal(status: number, body: string): EngineError {
  const aboutPrompt = (status === 400 || status === 413 || status === 422) && mentionsContext(body);
  const code = plainCode(body);
  const what = aboutPrompt ? "the prompt does not fit the engine's context" : "the engine refused the request";
  return new EngineError(aboutPrompt ? "prompt" : "engine", `${what} (HTTP ${status}${code ? `, ${code}` : ""})`);
}

export function mentionsContext(body: string): boolean {
  return /context[ _]?(length|size|window|limit)|max_model_len|maximum.{0,40}(tokens|length)|too (long|many tokens)/i.test(
    body.slice(0, 4096),
  );
}

function plainCode(body: string): string | undefined {
  const parsed = ErrorCode.safeParse(parseJson(body));
  if (!parsed.success) return undefined;
  const { code, type } = parsed.data.error;
  return [code, type].find((text) => typeof text === "string" && /^[a-z_]{1,48}$/i.test(text)) as string | undefined;
}

/** A vector as engines write it: numbers, or base64 of little-endian floats. */
export function vectorOf(embedding: number[] | string): Float32Array {
  if (typeof embedding !== "string") return Float32Array.from(embedding);
  const bytes = Buffer.from(embedding, "base64");
  if (bytes.length % 4 !== 0) throw new EngineError("engine", "the engine gave a vector that is not whole floats");
  return Float32Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i));
}
