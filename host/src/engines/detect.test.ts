import assert from "node:assert/strict";
import { test } from "node:test";
import { type Answer, deadAddress, json, stubServer } from "../testing/stub-http.ts";
import { findEngines, listModels, usualAddresses } from "./detect.ts";

const ollama: Answer = (request, response) => {
  if (request.path !== "/api/tags") return void json(response, {}, 404);
  json(response, {
    models: [
      { name: "llama3.2:3b", size: 1 },
      { name: "bge-m3:latest", size: 1 },
    ],
  });
};
const llamaServer: Answer = (request, response) => {
  const server = { server: "llama.cpp" };
  if (request.path === "/props") json(response, { default_generation_settings: {}, total_slots: 3 }, 200, server);
  else json(response, { data: [{ id: "Qwen2.5-7B-Instruct-Q4_K_M.gguf", owned_by: "llamacpp" }] }, 200, server);
};
const lmStudio: Answer = (request, response) => {
  if (request.path === "/api/v0/models") json(response, { data: [{ id: "qwen2.5-14b-instruct", type: "llm" }] });
  else json(response, {}, 404);
};
const vllm: Answer = (request, response) => {
  if (request.path === "/version") json(response, { version: "0.11.0" });
  else json(response, { object: "list", data: [{ id: "Qwen/QwQ-32B", owned_by: "vllm" }] });
};
/** Tollgate's own gateway: a refusal, and its request id on everything. */
const tollgate: Answer = (request, response) => {
  const headers = { "x-request-id": "req_06dfkq2m7v8x9zabcdefghjkmn" };
  const error = { error: { message: "no key", type: "invalid_api_key", code: "invalid_api_key" } };
  if (request.path === "/v1/models") json(response, { data: [{ id: "tiny-3b", owned_by: "vllm" }] }, 200, headers);
  else json(response, error, 401, headers);
};
const silent: Answer = () => {};

test("each engine is found where it listens, with its models", async (t) => {
  const found = await findEngines({
    ollama: await stubServer(t, ollama),
    llamaServer: await stubServer(t, llamaServer),
    lmStudio: await stubServer(t, lmStudio),
    vllm: await stubServer(t, vllm),
  });
  assert.deepEqual(
    found.map(({ name, models, slots, tellsProgress }) => [name.split(" at ")[0], models, slots, tellsProgress]),
    [
      ["ollama", ["llama3.2:3b", "bge-m3:latest"], 1, false],
      ["llama-server", ["Qwen2.5-7B-Instruct-Q4_K_M.gguf"], 3, true],
      ["LM Studio", ["qwen2.5-14b-instruct"], 1, false],
      ["vLLM", ["Qwen/QwQ-32B"], 8, false],
    ],
  );
});

test("nobody there, another service, our own gateway, or no answer in time: nothing is found", async (t) => {
  const dead = await deadAddress();
  assert.deepEqual(await findEngines({ ollama: dead, llamaServer: dead, lmStudio: dead, vllm: dead }), []);
  const gateway = await stubServer(t, tollgate);
  assert.deepEqual(await findEngines({ ollama: gateway, llamaServer: gateway, lmStudio: gateway, vllm: gateway }), []);
  const web = await stubServer(t, (_request, response) => response.end("<html>"));
  assert.deepEqual(await findEngines({ ollama: web, llamaServer: web, lmStudio: web, vllm: web }), []);
  const slow = await stubServer(t, silent);
  assert.deepEqual(await findEngines({ ollama: slow, llamaServer: slow, lmStudio: slow, vllm: slow }), []);
});

test("one engine is not taken for another", async (t) => {
  const url = await stubServer(t, vllm);
  const found = await findEngines({
    ollama: url,
    llamaServer: url,
    lmStudio: await deadAddress(),
    vllm: await deadAddress(),
  });
  assert.deepEqual(found, []);
});

test("OLLAMA_HOST is honoured when it means this machine", () => {
  const at = (OLLAMA_HOST: string | undefined): string => usualAddresses({ OLLAMA_HOST }).ollama;
  assert.equal(at(undefined), "http://127.0.0.1:11434");
  assert.equal(at("127.0.0.1:9999"), "http://127.0.0.1:9999");
  assert.equal(at("localhost"), "http://localhost:11434");
  assert.equal(at("0.0.0.0:7000"), "http://127.0.0.1:7000");
  assert.equal(at("http://[::1]:7000/"), "http://[::1]:7000");
  assert.equal(at("gpu-box.lan:11434"), "http://127.0.0.1:11434");
  assert.equal(at("::::"), "http://127.0.0.1:11434");
});

test("the models of a named engine, with its key", async (t) => {
  const url = await stubServer(t, (request, response) => {
    if (request.headers.authorization === "Bearer k") json(response, { data: [{ id: "m" }] });
    else json(response, {}, 401);
  });
  assert.deepEqual(await listModels(`${url}/v1`, { apiKey: "k", timeoutMs: 5000 }), ["m"]);
  assert.equal(await listModels(`${url}/v1`, { timeoutMs: 5000 }), undefined);
});
