import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { type Document, mistakesIn, textOf } from "@tollgate/api/openapi/openapi.ts";
import { describeFields, queryParameters } from "@tollgate/api/openapi/schemas.ts";
import { type FaultCode, faults } from "../../faults.ts";
import { consoleApiTable } from "./console/api.ts";
import { DOCUMENTS } from "./documents.ts";
import type { EndpointSpec } from "./endpoints.ts";
import { publicApi } from "./public-api.ts";
import { codesOf } from "./testing/codes.ts";

for (const { name, file, make } of DOCUMENTS) {
  describe(`the document of the ${name}`, () => {
    const document = make();

    test("is committed as the code describes it", () => {
      const committed = readFileSync(new URL(`../../../openapi/${file}`, import.meta.url), "utf8").split("\n");
      const current = textOf(document).split("\n");
      const at = current.findIndex((line, i) => line !== committed[i]);
      const same = at < 0 && committed.length === current.length;
      const where = `line ${at + 1} is\n  ${committed[at]}\nand should be\n  ${current[at]}`;
      const remedy = "Run: node gateway/src/http/reference/write.ts, and commit the file.";
      assert.ok(same, `gateway/openapi/${file} is stale. ${remedy}\n${where}`);
    });

    test("is the same each time it is made", () => assert.equal(textOf(make()), textOf(document)));

    test("has no mistakes", () => {
      assert.equal(document.openapi, "3.1.0");
      assert.deepEqual(mistakesIn(document), []);
    });

    test("has no schema with an address of its own, which would change what its references mean", () => {
      assert.doesNotMatch(textOf(document), /"\$(id|schema|defs)"/);
    });

    test("lists each code under the status that the catalogue of faults gives it", () => {
      for (const { status, code } of codesOf(document)) {
        if (!Object.hasOwn(faults, code)) assert.match(code, /^(invalid_request|not_found)_error$/);
        else assert.equal(status, faults[code as FaultCode].status, code);
      }
    });
  });
}

describe("mistakes", () => {
  const chatOf = (d: Document): object => d.paths["/v1/chat/completions"]?.post ?? {};
  const path = (name: string) => ({ name, in: "path", required: true, description: "x", schema: {} });

  for (const [name, spoil, mistake] of [
    ["a reference to nothing", (d) => delete d.components.schemas.Usage, /schemas\/Usage points nowhere/],
    ["a schema that nothing uses", (d) => Object.assign(d.components.schemas, { Lost: {} }), /Lost is used nowhere/],
    ["an operation without a summary", (d) => Object.assign(chatOf(d), { summary: "" }), /no summary/],
    ["an operation without an answer", (d) => Object.assign(chatOf(d), { responses: {} }), /no answer of success/],
    ["two operations of one id", (d) => Object.assign(chatOf(d), { operationId: "listModels" }), /listModels is taken/],
    ["a scheme nobody declared", (d) => Object.assign(chatOf(d), { security: [{ x: [] }] }), /no security scheme x/],
    [
      "a part of the path nobody declared",
      (d) => Object.assign(d.paths, { "/a/{b}": { get: chatOf(d) } }),
      /\{b\} is no/,
    ],
    [
      "a part that the path lacks",
      (d) => Object.assign(chatOf(d), { parameters: [path("b")] }),
      /b is not in the path/,
    ],
    ["a parameter twice", (d) => Object.assign(chatOf(d), { parameters: [path("b"), path("b")] }), /b is there twice/],
  ] as [string, (d: Document) => unknown, RegExp][]) {
    test(`${name} is found`, () => {
      const copy = structuredClone(publicApi());
      spoil(copy);
      assert.match(mistakesIn(copy).join("\n"), mistake);
    });
  }

  test("words for a field or a parameter that is not there, and none for one that is", () => {
    assert.throws(() => describeFields({ properties: { a: {} } }, { b: "x" }), /no field b/);
    const { query } = consoleApiTable.endpoints.find(({ id }) => id === "listRequests") as EndpointSpec;
    assert.throws(() => queryParameters(query as NonNullable<typeof query>, {}), /model has no description/);
  });
});
