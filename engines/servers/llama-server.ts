/**
 * The server of llama.cpp. With `--embeddings --pooling mean`, it may serve generation and embeddings at the same time.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type EngineUnderTest, TINY_EMBEDDINGS } from "../engine-under-test.ts";
import { ENGINE_CACHE_DIRECTORY } from "../install/cache.ts";
import { installPython } from "../install/python.ts";
import { MODEL_NAME } from "../model/model.ts";
import { MODEL_SHAPE } from "../model/weights.ts";
import { countOpenAiPromptTokens } from "./openai-prompt-tokens.ts";
import { askJson, isReachable, startServer } from "./start-server.ts";

const VERSION = "2026.10.11549";
const SCRIPT = fileURLToPath(new URL("llama_server.py", import.meta.url));
const SLOTS = 2;

export const llamaServerEngine: EngineUnderTest = {
  id: "llama-server",
  title: "llama.cpp server",
  version: `xllamacpp ${VERSION}`,
  install: () => installPython({ name: "llama-cpp", packages: [`xllamacpp==${VERSION}`] }),
  start: ({ gguf }, port, log) =>
    startServer(
      {
        file: join(ENGINE_CACHE_DIRECTORY, "llama-cpp", "bin", "python"),
        args: [SCRIPT, gguf, MODEL_NAME, String(port), String(SLOTS), String(MODEL_SHAPE.contextTokens)],
      },
      { url: `http://127.0.0.1:${port}`, log, isReady: (url) => isReachable(`${url}/health`) },
    ),
  known: /^llama-server at /,
  elect: (_, url) => ["--engine", "openai", "--engine-url", url, "--map", `${TINY_EMBEDDINGS.model}=${MODEL_NAME}`],
  slots: SLOTS,
  embeds: TINY_EMBEDDINGS,
  cannot: {},
  promptTokens: (url, messages) => countOpenAiPromptTokens(url, MODEL_NAME, messages),
  running: async (url) =>
    (await askJson<{ is_processing: boolean }[]>(`${url}/slots`)).filter((slot) => slot.is_processing).length,
};
