import assert from "node:assert/strict";
import { test } from "node:test";
import { catalogueModel, mapModels } from "./models.ts";

const names: Record<string, string[]> = {
  "tiny-3b": [
    "llama3.2",
    "llama3.2:3b",
    "llama3.2:latest",
    "llama3.2:3b-instruct-q4_K_M",
    "meta-llama/Llama-3.2-3B-Instruct",
    "/models/Llama-3.2-3B-Instruct-Q4_K_M.gguf",
  ],
  "small-8b": ["llama3.1:8b", "llama3.1:latest", "llama3:8b", "llama3", "Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf"],
  "small-7b-alt": ["qwen2.5:7b", "qwen2.5:latest", "Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b-instruct"],
  "mid-14b": ["qwen2.5:14b", "Qwen2.5-14B-Instruct-Q4_K_M.gguf"],
  "reason-32b": ["qwq", "qwq:32b", "Qwen/QwQ-32B", "deepseek-r1:32b", "DeepSeek-R1-Distill-Qwen-32B-Q4_K_M.gguf"],
  "embed-m3": ["bge-m3", "bge-m3:latest", "BAAI/bge-m3", "text-embedding-bge-m3"],
};
for (const [model, engineModels] of Object.entries(names)) {
  for (const name of engineModels) test(`${name} is ${model}`, () => assert.equal(catalogueModel(name), model));
}

const strangers = [
  "llama3.2:1b",
  "llama3.1:70b",
  "llama3.3:70b",
  "llama3.2-vision:11b",
  "llama-guard-3-8b",
  "qwen2.5-coder:7b",
  "Qwen2.5-VL-7B-Instruct",
  "qwen2.5:32b",
  "deepseek-r1:8b",
  "DeepSeek-R1-Distill-Llama-8B",
  "nomic-embed-text",
  "bge-large",
  "codellama",
  "",
];
for (const name of strangers) test(`"${name}" is none of ours`, () => assert.equal(catalogueModel(name), undefined));

test("of two names for one model the first is taken", () => {
  assert.deepEqual([...mapModels(["x", "llama3.2:3b", "llama3.2:latest"])], [["tiny-3b", "llama3.2:3b"]]);
});
