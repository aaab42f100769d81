/**
 * The profile of LM Studio. Its own API reports loaded models, their contexts and concurrency (`/api/v1` since version
 * 0.4, fewer fields under `/api/v0`). Its OpenAI list contains all downloaded models if it loads models on demand,
 * otherwise the loaded ones.
 */
import { z } from "zod";
import type { EngineHttp } from "../engine-http.ts";
import { makeOpenAiDialect, toResponseFormat } from "../openai-wire.ts";
import { SCHEMA_KEYWORDS } from "../schema-keywords.ts";
import type { EngineModel, EngineProfile, EngineReport } from "./engine-profile.ts";

const Served = z.object({ data: z.array(z.object({ id: z.string() })) });
const ModelsV1 = z.object({
  models: z.array(
    z.object({
      key: z.string(),
      loaded_instances: z.array(
        z.object({
          id: z.string(),
          config: z.object({
            context_length: z.int().positive().optional(),
            parallel: z.int().min(1).max(4096).optional(),
          }),
        }),
      ),
    }),
  ),
});
const ModelsV0 = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      state: z.string(),
      loaded_context_length: z.int().positive().optional(),
    }),
  ),
});

const ANY_OBJECT = { type: "json_schema" as const, name: "object", schema: { type: "object" } };

type Details = { models: Map<string, Omit<EngineModel, "name">>; slots: number | undefined };

async function inspect(http: EngineHttp): Promise<EngineReport | undefined> {
  const details = (await detailsV1(http)) ?? (await detailsV0(http));
  if (details === undefined) return undefined;
  const served = await http.ask("/v1/models", Served);
  if (served === undefined) return undefined;
  const unknown = { contextTokens: undefined, loaded: undefined };
  return {
    models: served.json.data.map(({ id }) => ({ name: id, ...(details.models.get(id) ?? unknown) })),
    slots: details.slots,
  };
}

async function detailsV1(http: EngineHttp): Promise<Details | undefined> {
  const list = await http.ask("/api/v1/models", ModelsV1);
  if (list === undefined) return undefined;
  const models: Details["models"] = new Map();
  const parallel: number[] = [];
  for (const { key, loaded_instances } of list.json.models) {
    models.set(key, { contextTokens: undefined, loaded: false });
    for (const { id, config } of loaded_instances) {
      const loaded = { contextTokens: config.context_length, loaded: true };
      models.set(key, loaded).set(id, loaded);
      if (config.parallel !== undefined) parallel.push(config.parallel);
    }
  }
  return { models, slots: parallel.length === 0 ? undefined : Math.max(...parallel) };
}

async function detailsV0(http: EngineHttp): Promise<Details | undefined> {
  const list = await http.ask("/api/v0/models", ModelsV0);
  if (list === undefined) return undefined;
  const entries = list.json.data.map(({ id, state, loaded_context_length }): [string, Omit<EngineModel, "name">] => [
    id,
    { contextTokens: loaded_context_length, loaded: state === "loaded" },
  ]);
  return { models: new Map(entries), slots: undefined };
}

export const lmStudioProfile: EngineProfile = {
  kind: "LM Studio",
  usualAddress: "http://127.0.0.1:1234",
  healthPath: "/v1/models",
  assumedSlots: 1,
  inspect,
  dialect: makeOpenAiDialect(
    {},
    {
      // LM Studio supports no `json_object` format, and no formats for completions.
      format: (format, endpoint) =>
        endpoint === "chat" ? toResponseFormat(format.type === "json_object" ? ANY_OBJECT : format) : undefined,
    },
  ),
  schemaKeywords: SCHEMA_KEYWORDS.lmStudio,
  caveats: ["LM Studio may truncate or not answer prompts longer than the context a model is loaded with"],
};
