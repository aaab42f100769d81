/**
 * The profile of vLLM. It reports its context and tokenizes texts. It reports its concurrency (`--max-num-seqs`) only
 * in development mode (`VLLM_SERVER_DEV_MODE`). Its metrics show how many whole contexts its cache can hold, and how
 * many requests run and wait.
 */
import { z } from "zod";
import type { EngineHttp } from "../engine-http.ts";
import { makeOpenAiDialect, toResponseFormat } from "../openai-wire.ts";
import { SCHEMA_KEYWORDS } from "../schema-keywords.ts";
import type { EngineProfile, EngineReport } from "./engine-profile.ts";
import { promptLogprobScoring } from "./prompt-logprob-scoring.ts";

const ModelList = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      owned_by: z.string().optional(),
      max_model_len: z.int().positive().nullish(),
    }),
  ),
});
const Version = z.object({ version: z.string() });
const Tokens = z.object({ tokens: z.array(z.int()) });

const ServerInfo = z.object({
  vllm_config: z.object({ scheduler_config: z.object({ max_num_seqs: z.int().min(1).max(4096) }) }),
});

/**
 * The number of slots to assume if it is not reported; usual settings allow more. While requests wait inside the
 * engine, the node takes no more than the engine runs.
 */
const ASSUMED_SLOTS = 8;

async function inspect(http: EngineHttp): Promise<EngineReport | undefined> {
  const [list, version] = await Promise.all([http.ask("/v1/models", ModelList), http.ask("/version", Version)]);
  if (list === undefined) return undefined;
  const itself = version !== undefined && list.json.data.some((model) => model.owned_by === "vllm");
  if (!itself) return undefined;
  const models = list.json.data.map(({ id, max_model_len }) => ({
    name: id,
    contextTokens: max_model_len ?? undefined,
    loaded: true,
  }));
  return { models, ...(await capacityOf(http, models[0]?.contextTokens)) };
}

async function capacityOf(
  http: EngineHttp,
  contextTokens: number | undefined,
): Promise<Pick<EngineReport, "slots" | "crowdedAt">> {
  const [info, lines] = await Promise.all([
    http.ask("/server_info?config_format=json", ServerInfo),
    http.lines("/metrics"),
  ]);
  const metrics = lines ?? [];
  const sequences = info?.json.vllm_config.scheduler_config.max_num_seqs;
  const whole = wholeContexts(metrics, contextTokens);
  const waiting = sumOf(metrics, "vllm:num_requests_waiting");
  const room = Math.max(1, whole ?? Number.POSITIVE_INFINITY);
  const told = sequences !== undefined || room < ASSUMED_SLOTS;
  const slots = told ? Math.min(sequences ?? ASSUMED_SLOTS, room) : undefined;
  return { slots, crowdedAt: waiting > 0 ? sumOf(metrics, "vllm:num_requests_running") : undefined };
}

/**
 * The number of whole contexts that the cache can hold, summed over the engine's processes (one metric line each). This
 * many requests never wait for cache memory, even if each fills its context.
 */
function wholeContexts(metrics: readonly string[], contextTokens: number | undefined): number | undefined {
  const engines = metrics.filter((line) => line.startsWith("vllm:cache_config_info{"));
  const each = engines.map((line) => {
    const label = (name: string): number =>
      Number(line.match(new RegExp(`[{,]${name}="([\\d.]+)"`))?.[1] ?? Number.NaN);
    const told = label("kv_cache_max_concurrency");
    return Math.floor(
      Number.isFinite(told) ? told : (label("num_gpu_blocks") * label("block_size")) / (contextTokens ?? Number.NaN),
    );
  });
  const sum = each.reduce((a, b) => a + b, 0);
  return each.length > 0 && Number.isFinite(sum) ? sum : undefined;
}

/** The sum of a metric over all its labels. */
function sumOf(metrics: readonly string[], name: string): number {
  const values = metrics.filter((line) => line.startsWith(`${name}{`)).map((line) => Number(line.split(" ").at(-1)));
  return values.filter(Number.isFinite).reduce((a, b) => a + b, 0);
}

export const vllmProfile: EngineProfile = {
  kind: "vLLM",
  usualAddress: "http://127.0.0.1:8000",
  healthPath: "/health",
  assumedSlots: ASSUMED_SLOTS,
  inspect,
  dialect: makeOpenAiDialect({}, { format: toResponseFormat }),
  schemaKeywords: SCHEMA_KEYWORDS.vllm,
  stopsExactly: true,
  scoring: promptLogprobScoring,
  async tokens(http, model, text) {
    const body = { model, prompt: text, add_special_tokens: false };
    return (await http.ask("/tokenize", Tokens, body))?.json.tokens;
  },
};
