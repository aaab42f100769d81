import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { buildDocument } from "@tollgate/api/openapi/document.ts";
import { listOperations } from "@tollgate/api/openapi/openapi-types.ts";
import { DOCUMENTS } from "../../../gateway/src/site/reference/api-documents.ts";
import { createFirstCallSamples, createSamples } from "./code-samples.ts";
import { formatJavaScriptLiteral, formatPythonLiteral } from "./language-literals.ts";

const samples = DOCUMENTS.flatMap((one) =>
  listOperations(buildDocument(one.api)).map((endpoint) => ({
    one,
    endpoint,
    made: createSamples(endpoint, one.calling),
  })),
);
const find = (id: string, language: string, name = "Public API"): string =>
  samples
    .find(({ one, endpoint }) => one.name === name && endpoint.operation.operationId === id)
    ?.made.find((sample) => sample.language === language)?.text ?? "";

test("samples use the openai libraries for operations that the libraries support", () => {
  assert.equal(
    find("createChatCompletion", "python"),
    `import os

from openai import OpenAI  # pip install openai

client = OpenAI(
    base_url=os.environ["TOLLGATE_BASE_URL"] + "/v1",
    api_key=os.environ["TOLLGATE_API_KEY"],
)
completion = client.chat.completions.create(
    model="small-8b",
    messages=[{"role": "user", "content": "Name three rivers of Europe."}],
    max_tokens=64,
)
print(completion.choices[0].message.content)`,
  );
  assert.match(
    find("createEmbedding", "typescript"),
    /client\.embeddings\.create\(\{ model: "embed-m3", input: \["the Danube", "the Rhine"\] \}\);/,
  );
  assert.match(find("listModels", "python"), /models = client\.models\.list\(\)\n/);
  assert.match(find("retrieveModel", "typescript"), /client\.models\.retrieve\("small-8b"\)/);
});

test("samples use plain HTTP where the openai libraries lack an operation, with a credential if needed", () => {
  assert.equal(
    find("listRates", "typescript"),
    'const answer = await fetch(process.env.TOLLGATE_BASE_URL + "/v1/catalog/rates");\nconsole.log(await answer.json());',
  );
  const elect = find("electModels", "python", "Node API");
  assert.match(
    elect,
    /httpx\.put\(\n {4}os\.environ\["TOLLGATE_BASE_URL"\] \+ f"\/node\/v1\/nodes\/\{os\.environ\['ID'\]\}\/elections",\n/,
  );
  assert.match(
    elect,
    /headers=\{"Authorization": f"Bearer \{os\.environ\['TOLLGATE_HOST_TOKEN'\]\}"\},\n {4}json=\{"models": \["small-8b"\]\},\n/,
  );
  assert.doesNotMatch(find("listRates", "python"), /Authorization/);
  const languages = (name: string) =>
    samples.find(({ one }) => one.name === name)?.made.map(({ language }) => language);
  assert.deepEqual(languages("Console API"), ["curl"]);
});

test("the first example for a new builder has the base URL and is complete", () => {
  const chat = samples.find(({ endpoint }) => endpoint.operation.operationId === "createChatCompletion")?.endpoint;
  assert.ok(chat !== undefined);
  for (const { text } of createFirstCallSamples(chat, {
    baseUrl: "https://gateway.example",
    key: "tsk_live_your_key",
  })) {
    assert.match(text, /https:\/\/gateway\.example\/v1/);
    assert.doesNotMatch(text, /environ|process\.env|\$TOLLGATE/);
  }
});

test("Node can parse every TypeScript example", () => {
  const modules = samples.flatMap(({ made }) => made.filter(({ language }) => language === "typescript"));
  assert.ok(modules.length > 10);
  const text = modules.map((sample) => `{\n${sample.text.replace(/^import .*$/m, "")}\n}`).join("\n");
  const { status, stderr } = spawnSync(process.execPath, ["--input-type=module", "--check", "-"], { input: text });
  assert.equal(status, 0, String(stderr));
});

test("JSON values are written in the syntax of each language", () => {
  const value = { stream: true, stop: null, "x-y": [1, "a"], long: ["x".repeat(50), "y".repeat(50)] };
  assert.equal(
    formatPythonLiteral(value),
    `{\n    "stream": True,\n    "stop": None,\n    "x-y": [1, "a"],\n    "long": [\n        "${"x".repeat(50)}",\n        "${"y".repeat(50)}",\n    ],\n}`,
  );
  assert.equal(formatJavaScriptLiteral({ a: true, "x-y": null, none: {} }), '{ a: true, "x-y": null, none: {} }');
});
