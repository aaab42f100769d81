import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { follow, operationsOf, type Response } from "@tollgate/api/openapi/openapi.ts";
import { faults } from "../../faults.ts";
import type { Gateway } from "../../inference/gateway.ts";
import { chat } from "../openai/chat.ts";
import { completions } from "../openai/completions.ts";
import { embeddings } from "../openai/embeddings.ts";
import { openAiRoutes } from "../openai/routes.ts";
import { receiptKeyRoutes } from "../receipt-keys.ts";
import { publicApi } from "./public-api.ts";
import { PUBLIC_CODES } from "./refusals.ts";
import { bareApp, door } from "./testing/app.ts";

const document = publicApi();

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
