/**
 * Ollama, in its own dialect: only there can it be told not to cut a prompt that is too long, how much context a model
 * must have, and that a completion is raw text. How many requests it runs at once (`OLLAMA_NUM_PARALLEL`) it tells nobody.
 */
import { z } from "zod";
import type { EngineHttp } from "../engine-http.ts";
import { ollamaDialect } from "./ollama-wire.ts";
import type { EngineFacts, EngineProfile } from "./profile.ts";

const Version = z.object({ version: z.string() });
const Tags = z.object({
  models: z.array(
    z.object({
      name: z.string(),
      /** It runs elsewhere: prompts would leave this machine. */
      remote_host: z.string().optional(),
    }),
  ),
});
const Running = z.object({ models: z.array(z.object({ name: z.string() })) });

async function inspect(http: EngineHttp): Promise<EngineFacts | undefined> {
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
    // It loads a model anew for a request that needs more context, so what is loaded now is no limit.
    contextTokens: undefined,
    loaded: running === undefined ? undefined : loaded.has(name),
  }));
  return { models, slots: undefined };
}

export const ollama: EngineProfile = {
  kind: "ollama",
  usualAddress: "http://127.0.0.1:11434",
  healthPath: "/api/version",
  assumedSlots: 1,
  inspect,
  dialect: ollamaDialect,
};
