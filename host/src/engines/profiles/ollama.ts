/**
 * The profile of Ollama with its own API. Only this API can forbid cutting a long prompt, set the context, and mark a
 * completion as raw text. Ollama does not report its concurrency (`OLLAMA_NUM_PARALLEL`).
 */
import type { OutputFormat } from "@tollgate/protocol/frames.ts";
import { z } from "zod";
import { parseJson } from "../../read-response-body.ts";
import { EngineError, type GenerationJob } from "../engine.ts";
import { type EngineHttp, toStreamError } from "../engine-http.ts";
import { toEngineSeed } from "../engine-seed.ts";
import { mapToKnownRole, parseFinishReason } from "../openai-wire.ts";
import { SCHEMA_KEYWORDS } from "../schema-keywords.ts";
import type { EngineApiDialect, EngineProfile, EngineReport, StreamEvent } from "./engine-profile.ts";

const Version = z.object({ version: z.string() });
const Tags = z.object({
  models: z.array(
    z.object({
      name: z.string(),
      /** Set if the model runs on another machine. Prompts would leave this machine. */
      remote_host: z.string().optional(),
    }),
  ),
});
const Running = z.object({ models: z.array(z.object({ name: z.string() })) });

async function inspect(http: EngineHttp): Promise<EngineReport | undefined> {
  const [version, tags, running] = await Promise.all([
    http.ask("/api/version", Version),
    http.ask("/api/tags", Tags),
    http.ask("/api/ps", Running),
  ]);
  if (version === undefined || tags === undefined) return undefined;
  const loaded = new Set(running?.json.models.map(({ name }) => name));
  const here = tags.json.models.filter(({ remote_host }) => !remote_host);
  const models = here.map(({ name }) => ({
    name,
    // The loaded context is no limit, because Ollama reloads a model for a request that needs more.
    contextTokens: undefined,
    loaded: running === undefined ? undefined : loaded.has(name),
  }));
  return { models, slots: undefined };
}

const Line = z.object({
  message: z.object({ content: z.string().nullish(), thinking: z.string().nullish() }).nullish(),
  response: z.string().nullish(),
  thinking: z.string().nullish(),
  done: z.boolean().nullish(),
  done_reason: z.string().nullish(),
  error: z.unknown().optional(),
});
const Embeddings = z.object({ embeddings: z.array(z.array(z.number())) });

/** Ollama's API uses JSON lines, sampling parameters under `options`, and a separate field for thinking. */
const ollamaDialect: EngineApiDialect = {
  framing: "ndjson",
  generation(job, model, contextTokens) {
    const format = job.format === undefined ? {} : formatFields(job.format);
    // These options prevent Ollama from dropping the oldest messages of a long prompt (`truncate`) or the beginning of
    // a long answer (`shift`).
    const whole = { truncate: false, shift: false };
    const common = { model, stream: true, ...whole, options: optionsOf(job, contextTokens), ...format };
    if ("prompt" in job.input)
      return { path: "/api/generate", body: { ...common, raw: true, prompt: job.input.prompt } };
    return { path: "/api/chat", body: { ...common, messages: job.input.messages.map(mapToKnownRole) } };
  },
  read(data) {
    const result = Line.safeParse(parseJson(data));
    if (!result.success)
      throw new EngineError("engine", "the engine's stream has a line that is not an Ollama response");
    if (result.data.error != null) throw toStreamError(result.data.error);
    return eventOf(result.data);
  },
  format: formatFields,
  embedding: (model, input, contextTokens) => ({
    path: "/api/embed",
    body: { model, input, truncate: false, options: { num_ctx: contextTokens } },
  }),
  vectors(text, count) {
    const result = Embeddings.safeParse(parseJson(text));
    if (!result.success) throw new EngineError("engine", "the engine's embeddings are not in Ollama's format");
    const { embeddings } = result.data;
    if (embeddings.length !== count)
      throw new EngineError("engine", `the engine returned ${embeddings.length} vectors for ${count} inputs`);
    return embeddings.map((values) => Float32Array.from(values));
  },
};

function formatFields(format: OutputFormat): Record<string, unknown> {
  return { format: format.type === "json_object" ? "json" : format.schema };
}

/** Temperature and top_p default to OpenAI's values, as in Ollama's own OpenAI endpoint. */
function optionsOf(job: GenerationJob, contextTokens: number | undefined): Record<string, unknown> {
  const { sampling } = job;
  return {
    num_ctx: contextTokens,
    num_predict: job.outputTokensMax,
    temperature: sampling.temperature ?? 1,
    top_p: sampling.top_p ?? 1,
    presence_penalty: sampling.presence_penalty,
    frequency_penalty: sampling.frequency_penalty,
    seed: sampling.seed === undefined ? undefined : toEngineSeed(sampling.seed),
    stop: sampling.stop,
  };
}

function eventOf(line: z.infer<typeof Line>): StreamEvent {
  return {
    thinking: line.message?.thinking || line.thinking || undefined,
    answer: line.message?.content || line.response || undefined,
    ...(line.done ? { finish: parseFinishReason(line.done_reason ?? "stop"), last: true } : {}),
  };
}

export const ollamaProfile: EngineProfile = {
  kind: "ollama",
  usualAddress: "http://127.0.0.1:11434",
  healthPath: "/api/version",
  assumedSlots: 1,
  inspect,
  dialect: ollamaDialect,
  schemaKeywords: SCHEMA_KEYWORDS.llamaCpp,
  stopsExactly: true,
};
