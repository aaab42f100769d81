import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { faults } from "../../faults.ts";
import type { Gateway } from "../../inference/gateway.ts";
import { chat } from "../openai/chat.ts";
import { completions } from "../openai/completions.ts";
import { embeddings } from "../openai/embeddings.ts";
import { openAiRoutes } from "../openai/routes.ts";
import { receiptKeyRoutes } from "../receipt-keys.ts";
import { type Document, follow, mistakesIn, operationsOf, type Response } from "./openapi.ts";
import { publicApi, publicApiText } from "./public-api.ts";
import { PUBLIC_CODES } from "./refusals.ts";
import { bareApp, door } from "./testing.ts";

const document = publicApi();

test("the committed document is what the code describes", () => {
  const committed = readFileSync(new URL("../../../openapi/public.json", import.meta.url), "utf8").split("\n");
  const current = publicApiText().split("\n");
  const at = current.findIndex((line, i) => line !== committed[i]);
  const same = at < 0 && committed.length === current.length;
  const where = `line ${at + 1} is\n  ${committed[at]}\nand should be\n  ${current[at]}`;
  const remedy = "Run: node gateway/src/http/reference/write.ts, and commit the file.";
  assert.ok(same, `gateway/openapi/public.json is stale. ${remedy}\n${where}`);
});

test("the document is the same each time it is made", () => {
  assert.equal(publicApiText(), publicApiText());
});

describe("structure", () => {
  test("the document has no mistakes", () => {
    assert.equal(document.openapi, "3.1.0");
    assert.deepEqual(mistakesIn(document), []);
  });

  test("schemas carry no addresses of their own, which would change what their references mean", () => {
    assert.doesNotMatch(publicApiText(), /"\$(id|schema|defs)"/);
  });

  for (const [name, spoil, mistake] of [
    ["a reference to nothing", (d) => delete d.components.schemas.Usage, /schemas\/Usage points nowhere/],
    ["a schema that nothing uses", (d) => Object.assign(d.components.schemas, { Lost: {} }), /Lost is used nowhere/],
    ["an operation without a summary", (d) => Object.assign(chatOf(d), { summary: "" }), /no summary/],
    ["an operation without an answer", (d) => Object.assign(chatOf(d), { responses: {} }), /no answer of success/],
    ["two operations of one id", (d) => Object.assign(chatOf(d), { operationId: "listModels" }), /listModels is taken/],
    ["a scheme nobody declared", (d) => Object.assign(chatOf(d), { security: [{ x: [] }] }), /no security scheme x/],
  ] as [string, (d: Document) => unknown, RegExp][]) {
    test(`${name} is found`, () => {
      const copy = structuredClone(document);
      spoil(copy);
      assert.match(mistakesIn(copy).join("\n"), mistake);
    });
  }
});

const chatOf = (d: Document): object => d.paths["/v1/chat/completions"]?.post ?? {};

test("what is documented is what is served, path by path", () => {
  const app = bareApp();
  const served: string[] = [];
  // Refusals of other methods and of unknown paths are registered for many methods at once.
  app.addHook("onRoute", ({ method, url }) => {
    if (typeof method === "string") served.push(`${method} ${url}`);
  });
  // Routes are only registered here, and no request reaches a gateway.
  openAiRoutes(app, { door, gateway: {} as Gateway, base64Compat: false });
  receiptKeyRoutes(app, { door, keys: async () => [] });
  const documented = operationsOf(document).map(({ method, path }) => `${method.toUpperCase()} ${path}`);
  assert.deepEqual(documented.sort(), served.sort());
});

test("every example of a request is one that the endpoint takes", () => {
  const endpoints = new Map([
    ["createChatCompletion", chat],
    ["createCompletion", completions],
    ["createEmbedding", embeddings],
  ]);
  for (const { operation } of operationsOf(document)) {
    const examples = operation.requestBody?.content["application/json"]?.examples ?? {};
    for (const { value } of Object.values(examples)) endpoints.get(operation.operationId)?.parse(value);
  }
});

describe("errors", () => {
  const listed = operationsOf(document).flatMap(({ operation }) =>
    Object.entries(operation.responses).flatMap(([status, response]) => {
      const { description, content } = follow<Response>(document, response);
      const codes = Object.keys(content?.["application/json"]?.examples ?? {});
      return codes.map((code) => ({ status: Number(status), code, description }));
    }),
  );

  test("each public code stands under its status, with its text", () => {
    for (const code of PUBLIC_CODES) {
      const found = listed.filter((one) => one.code === code);
      assert.ok(found.length > 0, `${code} is under no status`);
      for (const { status, description } of found) {
        assert.equal(status, faults[code].status, code);
        assert.ok(description.includes(`\`${code}\`: ${faults[code].text}`), code);
      }
    }
  });

  test("a code that the public path names is in the document", () => {
    const src = fileURLToPath(new URL("../..", import.meta.url));
    const files = globSync(["inference/**/*.ts", "limits/**/*.ts", "http/openai/**/*.ts", "http/*.ts"], { cwd: src });
    const text = files.map((file) => readFileSync(`${src}/${file}`, "utf8")).join("\n");
    const named = (Object.keys(faults) as (keyof typeof faults)[]).filter((code) => text.includes(`"${code}"`));
    assert.ok(named.includes("upstream_stall"), "the sources were found");
    const missing = named.filter((code) => !PUBLIC_CODES.includes(code));
    assert.deepEqual(missing, [], "add them to refusals.ts");
  });
});

test("null and unknown fields are spoken of, because no schema says it", () => {
  assert.match(document.info.description, /`null` in a field means that the field is absent/);
  assert.match(document.info.description, /not listed here are ignored/);
});
