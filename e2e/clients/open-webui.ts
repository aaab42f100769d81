/**
 * Runs Open WebUI on loopback with its own data folder. A user signs up and chats through Open WebUI's
 * OpenAI-compatible API, with the official package. Open WebUI sends the requests to the gateway with the given address
 * and key.
 */
import { dirname, join } from "node:path";
import type { Client, ClientConnection } from "./client-interface.ts";
import { installPackages, installProgram } from "./install-clients.ts";
import { startServer } from "./start-server.ts";

const SETTINGS = {
  WEBUI_SECRET_KEY: "of this run alone",
  OFFLINE_MODE: "true",
  HF_HUB_OFFLINE: "1",
  ENABLE_OLLAMA_API: "false",
  ENABLE_VERSION_UPDATE_CHECK: "false",
  ANONYMIZED_TELEMETRY: "false",
  // Uses the gateway's embedding model. By default Open WebUI downloads one, which needs a package that is not
  // installed.
  RAG_EMBEDDING_ENGINE: "openai",
};
const ALL = ["tiny-3b", "reason-32b", "mid-14b", "embed-m3", "no-such"];

export async function loadOpenWebUi(): Promise<Client | { missing: string }> {
  const made = await installProgram("open-webui");
  if ("missing" in made) return made;
  const missing = await installPackages();
  if (missing !== undefined) return { missing };
  const program = join(dirname(made.interpreter), "open-webui");
  const { address, close } = await startServer({
    name: "Open WebUI",
    command: (port) => [program, "serve", "--host", "127.0.0.1", "--port", String(port)],
    env: (folder) => ({ ...SETTINGS, DATA_DIR: folder }),
    health: "/health",
  });
  try {
    return await clientOf(address, close);
  } catch (error) {
    await close();
    throw error;
  }
}

async function clientOf(address: string, close: () => Promise<void>): Promise<Client> {
  const post = async (path: string, body: object, token?: string): Promise<{ token: string }> => {
    const headers = { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) };
    const response = await fetch(address + path, { method: "POST", headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path} was answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as { token: string };
  };
  // The first user who signs up is the administrator.
  const person = { name: "Ada", email: "ada@example.com", password: "correct horse battery" };
  const { token } = await post("/api/v1/auths/signup", person);
  let used = "";
  /** Makes Open WebUI use this connection. The models are named explicitly, because an invalid key cannot list them. */
  const through = async (
    { baseURL, apiKey, maxRetries }: ClientConnection,
    names: string[],
  ): Promise<ClientConnection> => {
    const wanted = JSON.stringify([apiKey, names]);
    if (wanted !== used) {
      const config = {
        ENABLE_OPENAI_API: true,
        OPENAI_API_BASE_URLS: [baseURL],
        OPENAI_API_KEYS: [apiKey],
        OPENAI_API_CONFIGS: { "0": { enable: true, model_ids: names } },
      };
      await post("/openai/config/update", config, token);
      const list = await fetch(`${address}/api/models?refresh=true`, { headers: { authorization: `Bearer ${token}` } });
      await list.body?.cancel();
      used = wanted;
    }
    return { baseURL: `${address}/api`, apiKey: token, maxRetries };
  };
  const sdk = (await (
    await import(new URL("adapters/openai.mjs", import.meta.url).href)
  ).load("openai")) as Required<Client>;
  return {
    chat: async (at, ask) => sdk.chat(await through(at, ALL), ask),
    stream: async (at, ask, onText) => sdk.stream(await through(at, ALL), ask, onText),
    streamUsage: async (at, ask) => sdk.streamUsage(await through(at, ALL), ask),
    cancel: async (at, ask) => sdk.cancel(await through(at, ALL), ask),
    structured: async (at, ask, schema) => sdk.structured(await through(at, ALL), ask, schema),
    embed: async (at, ask) => sdk.embed(await through(at, ALL), ask),
    models: async (at) => sdk.models(await through(at, [])),
    seen: sdk.seen,
    close,
  };
}
