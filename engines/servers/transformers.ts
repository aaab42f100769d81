/** `transformers serve` of Hugging Face, which the agent treats as any OpenAI-compatible engine. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { EngineUnderTest } from "../engine-under-test.ts";
import { ENGINE_CACHE_DIRECTORY } from "../install/cache.ts";
import { installPython } from "../install/python.ts";
import { HUB_SETTINGS } from "./hugging-face-hub.ts";
import { isReachable, startServer } from "./start-server.ts";
import { TORCH_REQUIREMENT } from "./vllm.ts";

const VERSION = "5.22.2";

export const transformersEngine: EngineUnderTest = {
  id: "transformers",
  title: "transformers serve",
  version: `transformers ${VERSION}`,
  install: () =>
    installPython({
      name: "transformers",
      packages: [`transformers[serving]==${VERSION}`, TORCH_REQUIREMENT, "accelerate==1.15.0"],
    }),
  start: ({ folder }, port, log) => {
    mkdirSync(join(HUB_SETTINGS.HF_HOME, "hub"), { recursive: true });
    return startServer(
      {
        file: join(ENGINE_CACHE_DIRECTORY, "transformers", "bin", "python"),
        args: [
          "-m",
          "transformers.cli.transformers",
          "serve",
          folder,
          "--host",
          "127.0.0.1",
          "--port",
          String(port),
          "--device",
          "cpu",
        ],
        env: { ...HUB_SETTINGS, OMP_NUM_THREADS: "1" },
      },
      { url: `http://127.0.0.1:${port}`, log, isReady: (url) => isReachable(`${url}/health`) },
    );
  },
  known: /^engine at /,
  elect: ({ folder }, url) => ["--engine", "openai", "--engine-url", url, "--map", `tiny-3b=${folder}`],
  slots: 1,
  cannot: {
    embeddings: "it has no embeddings",
    json_object: "it keeps to no format",
    json_schema: "it keeps to no format",
  },
};
