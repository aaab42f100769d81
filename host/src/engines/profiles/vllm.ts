/**
 * vLLM: tells its context and tokenises. How many sequences it runs at once (`--max-num-seqs`) it does not tell, but its
 * metrics tell how many tokens its cache holds, and so how many whole contexts.
 */
import { z } from "zod";
import type { EngineHttp } from "../engine-http.ts";
import { openAiDialect } from "../openai-wire.ts";
import type { EngineFacts, EngineProfile } from "./profile.ts";

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

const SLOTS_MAX = 64;

async function inspect(http: EngineHttp): Promise<EngineFacts | undefined> {
  const [list, version] = await Promise.all([http.ask("/v1/models", ModelList), http.ask("/version", Version)]);
  if (list === undefined) return undefined;
  const itself = version !== undefined && list.json.data.some((model) => model.owned_by === "vllm");
  if (!itself) return undefined;
  const models = list.json.data.map(({ id, max_model_len }) => ({
    name: id,
    contextTokens: max_model_len ?? undefined,
    loaded: true,
  }));
  return { models, slots: await slotsOf(http, models[0]?.contextTokens) };
}

/** Requests rarely fill their context, so this many whole ones never wait for room. */
async function slotsOf(http: EngineHttp, contextTokens: number | undefined): Promise<number | undefined> {
  if (contextTokens === undefined) return undefined;
  const line = (await http.lines("/metrics"))?.find((text) => text.startsWith("vllm:cache_config_info{"));
  const label = (name: string): number => Number(line?.match(new RegExp(`[{,]${name}="(\\d+)"`))?.[1] ?? Number.NaN);
  const whole = Math.floor((label("num_gpu_blocks") * label("block_size")) / contextTokens);
  return Number.isFinite(whole) ? Math.min(SLOTS_MAX, Math.max(1, whole)) : undefined;
}

export const vllm: EngineProfile = {
  kind: "vLLM",
  usualAddress: "http://127.0.0.1:8000",
  healthPath: "/health",
  assumedSlots: 8,
  inspect,
  dialect: openAiDialect(),
  async tokens(http, model, text) {
    const body = { model, prompt: text, add_special_tokens: false };
    return (await http.ask("/tokenize", Tokens, body))?.json.tokens;
  },
};
