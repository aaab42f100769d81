import assert from "node:assert/strict";
import { test } from "node:test";
import { findCatalogueId, mapCatalogueIdsToEngineModels } from "./model-names.ts";

const names: Record<string, string[]> = {
  "tiny-3b": [
    "llama3.2",
    "llama3.2:3b",
    "llama3.2:latest",
    "llama3.2:3b-instruct-q4_K_M",
    "hf.co/bartowski/Llama-3.2-3B-Instruct-GGUF:Q4_K_M",
    "meta-llama/Llama-3.2-3B-Instruct",
    "llama-3.2-3b-instruct",
    "/models/Llama-3.2-3B-Instruct-Q4_K_M.gguf",
    "C:\\models\\Llama-3.2-3B-Instruct-Q4_K_M.gguf",
    "/cache/bartowski_Llama-3.2-3B-Instruct-GGUF_Llama-3.2-3B-Instruct-Q4_K_M.gguf",
    "mlx-community/Llama-3.2-3B-Instruct-4bit",
  ],
  "small-8b": [
    "llama3.1:8b",
    "llama3.1:latest",
    "llama3.1:8b-instruct-q4_0",
    "Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf",
    "hugging-quants/Meta-Llama-3.1-8B-Instruct-AWQ-INT4",
    "mlx-community/Meta-Llama-3.1-8B-Instruct-4bit",
  ],
  "small-7b-alt": ["qwen2.5:7b", "qwen2.5:latest", "Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b-instruct"],
  "mid-14b": [
    "qwen2.5:14b",
    "Qwen2.5-14B-Instruct-Q4_K_M.gguf",
    "Qwen/Qwen2.5-14B-Instruct-AWQ",
    "mlx-community/Qwen2.5-14B-Instruct-4bit",
  ],
  "reason-32b": [
    "qwq",
    "qwq:32b",
    "qwq:32b-q4_K_M",
    "Qwen/QwQ-32B",
    "mlx-community/QwQ-32B-4bit",
    "deepseek-r1:32b",
    "deepseek-r1:32b-qwen-distill-q4_K_M",
    "DeepSeek-R1-Distill-Qwen-32B-Q4_K_M.gguf",
  ],
  "embed-m3": ["bge-m3", "bge-m3:latest", "bge-m3:567m", "BAAI/bge-m3", "text-embedding-bge-m3", "bge-m3-f16.gguf"],
};
for (const [model, engineModels] of Object.entries(names)) {
  for (const name of engineModels)
    test(`${name} is recognized as ${model}`, () => assert.equal(findCatalogueId(name), model));
}

const strangers = [
  "llama3.2:1b",
  "llama3.1:70b",
  "llama3.3:70b",
  // Not recognized as `small-8b`: Llama 3 has a context of 8,192 tokens, and the catalogue requires 16,384.
  "llama3:8b",
  "Meta-Llama-3-8B-Instruct-Q4_K_M.gguf",
  "llama3.2-vision:11b",
  "llama3.2:3b-text-q4_K_M",
  "meta-llama/Llama-3.2-3B",
  "Llama-3.2-3B-Instruct-abliterated.Q4_K_M.gguf",
  "Hermes-3-Llama-3.2-3B-Q4_K_M.gguf",
  "llama3.2:3b-instruct-q2_K",
  "mlx-community/Llama-3.2-3B-Instruct-3bit",
  "nvidia/Llama-3.1-Nemotron-8B-UltraLong-1M-Instruct",
  "llama-guard-3-8b",
  "qwen2.5-coder:7b",
  "Qwen2.5-VL-7B-Instruct",
  "Qwen/Qwen2.5-7B-Instruct-1M",
  "qwen2.5:32b",
  "QwQ-32B-Preview",
  "deepseek-r1:8b",
  "DeepSeek-R1-Distill-Llama-8B",
  "nomic-embed-text",
  "bge-large",
  "bge-m3-retromae-retriever",
  "codellama",
  "",
];
for (const name of strangers)
  test(`"${name}" is not recognized as a catalogue model`, () => assert.equal(findCatalogueId(name), undefined));

test("if an engine lists a model under two names, the first name is used", () => {
  assert.deepEqual(
    [...mapCatalogueIdsToEngineModels(["x", "llama3.2:3b", "llama3.2:latest"])],
    [["tiny-3b", "llama3.2:3b"]],
  );
});
