/** The server of MLX, on the CPU. It lists its model by the folder with which it was started. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { EngineUnderTest } from "../engine-under-test.ts";
import { ENGINE_CACHE_DIRECTORY } from "../install/cache.ts";
import { installPython } from "../install/python.ts";
import { HUB_SETTINGS } from "./hugging-face-hub.ts";
import { countOpenAiPromptTokens } from "./openai-prompt-tokens.ts";
import { isReachable, startServer } from "./start-server.ts";

const VERSION = "0.32.2";
const MLX_VERSION = "0.32.4";

export const mlxEngine: EngineUnderTest = {
  id: "mlx",
  title: "mlx_lm.server",
  version: `mlx-lm ${VERSION}, mlx ${MLX_VERSION} (CPU)`,
  install: () => installPython({ name: "mlx", packages: [`mlx-lm==${VERSION}`, `mlx[cpu]==${MLX_VERSION}`] }),
  start: ({ folder }, port, log) => {
    mkdirSync(join(HUB_SETTINGS.HF_HOME, "hub"), { recursive: true });
    return startServer(
      {
        file: join(ENGINE_CACHE_DIRECTORY, "mlx", "bin", "python"),
        args: ["-m", "mlx_lm", "server", "--model", folder, "--host", "127.0.0.1", "--port", String(port)],
        env: HUB_SETTINGS,
      },
      { url: `http://127.0.0.1:${port}`, log, isReady: (url) => isReachable(`${url}/v1/models`) },
    );
  },
  known: /^MLX at /,
  elect: (_, url) => ["--engine", "openai", "--engine-url", url],
  slots: 1,
  cannot: {
    embeddings: "it has no embeddings",
    json_object: "it keeps to no format",
    json_schema: "it keeps to no format",
  },
  promptTokens: (url, messages) => countOpenAiPromptTokens(url, "default_model", messages),
};
