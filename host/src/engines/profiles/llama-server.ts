/**
 * The profile of llama.cpp's llama-server. It reports its slots, its context and its progress in reading a prompt.
 * Without a model, it is a router that loads models by name, and it reports slots only for loaded models.
 */
import { z } from "zod";
import type { EngineHttp } from "../engine-http.ts";
import { makeOpenAiDialect, toResponseFormat } from "../openai-wire.ts";
import { SCHEMA_KEYWORDS } from "../schema-keywords.ts";
import type { EngineProfile, EngineReport } from "./engine-profile.ts";
import { nextTokenScoring } from "./next-token-scoring.ts";

const ModelList = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      owned_by: z.string().optional(),
      /** Only a llama-server that runs as a router (several models behind one server) reports this field. */
      status: z.object({ value: z.string() }).optional(),
    }),
  ),
});
const Props = z.object({
  default_generation_settings: z.object({ n_ctx: z.int().positive().optional() }),
  total_slots: z.int().min(1).max(4096).optional(),
});
const Tokens = z.object({ tokens: z.array(z.int()) });

async function inspect(http: EngineHttp): Promise<EngineReport | undefined> {
  const [props, list] = await Promise.all([http.ask("/props", Props), http.ask("/v1/models", ModelList)]);
  if (list === undefined) return undefined;
  const itself = props !== undefined || list.headers.get("server")?.startsWith("llama.cpp");
  if (!itself) return undefined;
  const models = list.json.data.map(({ id, status }) => ({
    name: id,
    contextTokens: props?.json.default_generation_settings.n_ctx,
    loaded: status === undefined ? true : status.value === "loaded",
  }));
  return { models, slots: props?.json.total_slots };
}

export const llamaServerProfile: EngineProfile = {
  kind: "llama-server",
  usualAddress: "http://127.0.0.1:8080",
  healthPath: "/health",
  assumedSlots: 1,
  inspect,
  dialect: makeOpenAiDialect(
    { return_progress: true },
    {
      // For completions, llama-server accepts only the schema itself.
      format: (format, endpoint) =>
        endpoint === "chat"
          ? toResponseFormat(format)
          : { json_schema: format.type === "json_object" ? { type: "object" } : format.schema },
    },
  ),
  schemaKeywords: SCHEMA_KEYWORDS.llamaCpp,
  stopsExactly: true,
  scoring: nextTokenScoring,
  async tokens(http, model, text) {
    const body = { model, content: text, add_special: false, parse_special: false };
    return (await http.ask("/tokenize", Tokens, body))?.json.tokens;
  },
};
