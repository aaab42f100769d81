/** Ollama's own dialect: JSON lines, sampling under `options`, thinking in its own field. */
import { z } from "zod";
import { parseJson } from "../../http-body.ts";
import { EngineError, type GenerationJob } from "../engine.ts";
import { streamError } from "../engine-http.ts";
import { finishOf, knownRole } from "../openai-wire.ts";
import { engineSeed } from "../seed.ts";
import type { Dialect, StreamEvent } from "./profile.ts";

const Line = z.object({
  message: z.object({ content: z.string().nullish(), thinking: z.string().nullish() }).nullish(),
  response: z.string().nullish(),
  thinking: z.string().nullish(),
  done: z.boolean().nullish(),
  done_reason: z.string().nullish(),
  error: z.unknown().optional(),
});
const Embeddings = z.object({ embeddings: z.array(z.array(z.number())) });

export const ollamaDialect: Dialect = {
  framing: "ndjson",
  generation(job, model, contextTokens) {
    // Without `truncate` the oldest messages of a long prompt would be dropped, without `shift` those of a long answer.
    const common = { model, stream: true, truncate: false, shift: false, options: optionsOf(job, contextTokens) };
    if ("prompt" in job.input)
      return { path: "/api/generate", body: { ...common, raw: true, prompt: job.input.prompt } };
    return { path: "/api/chat", body: { ...common, messages: job.input.messages.map(knownRole) } };
  },
  read(data) {
    const result = Line.safeParse(parseJson(data));
    if (!result.success) throw new EngineError("engine", "the engine's stream holds something that is no answer");
    if (result.data.error != null) throw streamError(result.data.error);
    return eventOf(result.data);
  },
  embedding: (model, input, contextTokens) => ({
    path: "/api/embed",
    body: { model, input, truncate: false, options: { num_ctx: contextTokens } },
  }),
  vectors(text, count) {
    const result = Embeddings.safeParse(parseJson(text));
    if (!result.success) throw new EngineError("engine", "the engine's embeddings are not in Ollama's form");
    const { embeddings } = result.data;
    if (embeddings.length !== count)
      throw new EngineError("engine", `the engine gave ${embeddings.length} vectors for ${count} inputs`);
    return embeddings.map((values) => Float32Array.from(values));
  },
};

/** Temperature and top_p are OpenAI's where the client named none, as in Ollama's own OpenAI endpoint. */
function optionsOf(job: GenerationJob, contextTokens: number | undefined): Record<string, unknown> {
  const { sampling } = job;
  return {
    num_ctx: contextTokens,
    num_predict: job.outputTokensMax,
    temperature: sampling.temperature ?? 1,
    top_p: sampling.top_p ?? 1,
    presence_penalty: sampling.presence_penalty,
    frequency_penalty: sampling.frequency_penalty,
    seed: sampling.seed === undefined ? undefined : engineSeed(sampling.seed),
    stop: sampling.stop,
  };
}

function eventOf(line: z.infer<typeof Line>): StreamEvent {
  return {
    thinking: line.message?.thinking || line.thinking || undefined,
    answer: line.message?.content || line.response || undefined,
    ...(line.done ? { finish: finishOf(line.done_reason ?? "stop"), last: true } : {}),
  };
}
