/**
 * Ollama with a data folder of its own. The model has Llama 3.2's complete chat template, because the one in Ollama's
 * library lacks the date.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ChatMessage, EngineUnderTest } from "../engine-under-test.ts";
import { ENGINE_CACHE_DIRECTORY } from "../install/cache.ts";
import { failureReason, runCommand } from "../install/command.ts";
import { installOllama, OLLAMA_PROGRAM, OLLAMA_VERSION } from "../install/ollama.ts";
import { MODEL_SHAPE } from "../model/weights.ts";
import { askJson, isReachable, startServer } from "./start-server.ts";

const NAME = "llama3.2:3b";
const EMBEDDING_NAME = "bge-m3:latest";
const SLOTS = 2;

const TEMPLATE = `{{- $system := .System }}{{- range $i, $_ := .Messages }}{{- if and (eq $i 0) (eq .Role "system") }}{{- $system = .Content }}{{- end }}{{- end -}}
<|start_header_id|>system<|end_header_id|>

Cutting Knowledge Date: December 2023
Today Date: 26 Jul 2024

{{ $system }}<|eot_id|>
{{- range $i, $_ := .Messages }}
{{- if not (and (eq $i 0) (eq .Role "system")) }}<|start_header_id|>{{ .Role }}<|end_header_id|>

{{ .Content }}<|eot_id|>
{{- end }}
{{- end }}<|start_header_id|>assistant<|end_header_id|>

`;

export const ollamaEngine: EngineUnderTest = {
  id: "ollama",
  title: "Ollama",
  version: OLLAMA_VERSION,
  install: installOllama,
  async start({ gguf }, port, log) {
    const url = `http://127.0.0.1:${port}`;
    const env = {
      OLLAMA_HOST: `127.0.0.1:${port}`,
      OLLAMA_MODELS: join(ENGINE_CACHE_DIRECTORY, "ollama-models"),
      OLLAMA_NUM_PARALLEL: String(SLOTS),
      OLLAMA_KEEP_ALIVE: "-1",
      HOME: join(ENGINE_CACHE_DIRECTORY, "ollama-home"),
    };
    await mkdir(env.HOME, { recursive: true });
    const isReady = (address: string): Promise<boolean> => isReachable(`${address}/api/version`);
    const server = await startServer({ file: OLLAMA_PROGRAM, args: ["serve"], env }, { url, log, isReady });
    const modelfile = join(dirname(log), "Modelfile");
    await writeFile(modelfile, `FROM ${gguf}\nPARAMETER num_thread 1\nTEMPLATE """${TEMPLATE}"""\n`);
    for (const name of [NAME, EMBEDDING_NAME]) {
      const made = await runCommand(OLLAMA_PROGRAM, ["create", name, "-f", modelfile], { env });
      if (made.code === 0) continue;
      await server.kill();
      throw new Error(`ollama create: ${failureReason(made)}`);
    }
    return server;
  },
  known: /^ollama at /,
  // No URL: the command finds Ollama through OLLAMA_HOST (see `env`), as on a host's machine.
  elect: () => ["--slots", String(SLOTS)],
  env: (url) => ({ OLLAMA_HOST: new URL(url).host }),
  slots: SLOTS,
  // Matched to the catalogue's model by name only, because Ollama has no endpoint for tokenizing.
  embeds: { model: "embed-m3", width: MODEL_SHAPE.width },
  cannot: {},
  promptTokens: async (url: string, messages: ChatMessage[]) => {
    const body = {
      model: NAME,
      messages,
      stream: false,
      options: { num_predict: 1, num_ctx: MODEL_SHAPE.contextTokens },
    };
    return (await askJson<{ prompt_eval_count: number }>(`${url}/api/chat`, body)).prompt_eval_count;
  },
};
