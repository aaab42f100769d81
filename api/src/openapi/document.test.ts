import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { consoleApi } from "../console/api.ts";
import { requestRoutes } from "../console/requests.ts";
import { type FaultCode, faults } from "../faults.ts";
import { PageFields } from "../list-query-fields.ts";
import { nodeApi } from "../nodes/api.ts";
import { publicApi } from "../public/api.ts";
import type { Route } from "../route-declaration.ts";
import { validateFields } from "../validate-fields.ts";
import type { Api } from "./api-declaration.ts";
import { convertQueryParameters, describeFields } from "./convert-schemas.ts";
import { buildDocument, listExamples } from "./document.ts";
import { listRouteErrors, makeErrorEnvelopeSchema } from "./error-responses.ts";
import {
  type Document,
  findMistakes,
  formatDocument,
  listOperations,
  type Parameter,
  type Response,
  resolveRef,
  type Schema,
} from "./openapi-types.ts";

const APIS: [string, Api][] = [
  ["public", publicApi],
  ["node", nodeApi],
  ["console", consoleApi],
];

for (const [name, api] of APIS) {
  const document = buildDocument(api);
  const routes = api.tables.flatMap((table) => Object.entries<Route>(table.routes));

  describe(`the ${name} API`, () => {
    test("the document is the same each time it is built", () => {
      assert.equal(formatDocument(buildDocument(api)), formatDocument(document));
    });

    test("the document is valid", () => {
      assert.equal(document.openapi, "3.1.0");
      assert.deepEqual(findMistakes(document), []);
    });

    test("no schema has an $id, because it would change how references are resolved", () => {
      assert.doesNotMatch(formatDocument(document), /"\$(id|schema|defs)"/);
    });

    test("operation IDs are unique, and the document contains every operation", () => {
      const ids = listOperations(document).map(({ operation }) => operation.operationId);
      assert.deepEqual(ids.sort(), routes.map(([id]) => id).sort());
    });

    test("each error code is listed under its status in the error catalogue", () => {
      for (const { operation } of listOperations(document)) {
        for (const [status, response] of Object.entries(operation.responses)) {
          if (Number(status) < 400) continue;
          const examples = resolveRef<Response>(document, response).content?.["application/json"]?.examples ?? {};
          for (const code of Object.keys(examples)) {
            if (!Object.hasOwn(faults, code)) assert.match(code, /^(invalid_request|not_found)_error$/);
            else assert.equal(Number(status), faults[code as FaultCode].status, code);
          }
        }
      }
    });

    test("every example of an error matches the error schema", () => {
      const envelope = api.error ?? makeErrorEnvelopeSchema(routes.flatMap(([, route]) => listRouteErrors(route)));
      const responses = listOperations(document).flatMap(({ operation }) => Object.entries(operation.responses));
      for (const [status, response] of responses) {
        if (Number(status) < 400) continue;
        const media = resolveRef<Response>(document, response).content?.["application/json"];
        assert.deepEqual(media?.schema, { $ref: "#/components/schemas/Error" });
        for (const { value } of Object.values(media?.examples ?? {})) envelope.parse(value);
      }
    });

    test("every example of a response matches its schema", () => {
      for (const [id, { answer }] of routes) {
        for (const { value } of Object.values(listExamples(answer))) {
          const parsed = answer.json?.safeParse(value);
          assert.ok(parsed?.success, `${id}: ${parsed?.error?.message}`);
        }
      }
    });

    test("the schemas detect an undeclared or missing field in every response example, at any depth", () => {
      for (const [id, { answer }] of routes) {
        for (const { value } of Object.values(listExamples(answer))) {
          for (const [path, spoiled] of withOneFieldMore(value)) {
            assert.ok(!answer.json?.safeParse(spoiled).success, `${id} takes ${path}.undeclared`);
          }
          for (const field of requiredOf(document, id)) {
            const { [field]: _left, ...rest } = value as Record<string, unknown>;
            assert.ok(!answer.json?.safeParse(rest).success, `${id} does without ${field}`);
          }
        }
      }
    });

    test("every operation with a body has an example that the body's schema accepts", () => {
      for (const [id, { body }] of routes) {
        if (body === undefined) continue;
        const examples = Object.values(listExamples(body));
        assert.ok(examples.length > 0, id);
        for (const { value } of examples) assert.ok("fields" in validateFields(body.fields, value), id);
      }
    });

    test("request schemas have no default values, so that generated clients may omit optional fields", () => {
      for (const [request, { words }] of Object.entries(api.requests)) {
        // Without separate descriptions, the schema is published unchanged.
        if (words === undefined) continue;
        const { properties = {} } = document.components.schemas[request] as Schema;
        for (const property of Object.values(properties)) assert.ok(!("default" in (property as object)), request);
      }
    });

    test("the documented minimum and maximum of the `limit` parameter equal the enforced ones", () => {
      const limits = listOperations(document).flatMap(({ operation }) =>
        (operation.parameters ?? [])
          .map((one) => resolveRef<Parameter>(document, one))
          .filter((one) => one.name === "limit"),
      );
      assert.equal(limits.length > 0, api !== publicApi);
      for (const { schema } of limits) {
        const { minimum = 0, maximum = 0, default: usual } = schema as Schema;
        const isTaken = (limit: number) => PageFields.limit.safeParse(String(limit)).success;
        assert.deepEqual([minimum - 1, minimum, maximum, maximum + 1].map(isTaken), [false, true, true, false]);
        assert.equal(PageFields.limit.parse(undefined), usual);
      }
    });
  });
}

/**
 * Fields with arbitrary content: machine facts, evidence, details of an operator's action, and counts by node state.
 */
const OPEN = /\.(hardware|evidence|details|nodes)(\.|$)/;

/** Yields a copy of the value for each object in it. In each copy, that object has an additional field. */
function withOneFieldMore(value: unknown, path = "$"): [string, unknown][] {
  if (typeof value !== "object" || value === null || OPEN.test(path)) return [];
  const inside = Object.entries(value).flatMap(([key, inner]) =>
    withOneFieldMore(inner, `${path}.${key}`).map(([at, spoiled]): [string, unknown] => [
      at,
      Array.isArray(value) ? value.with(Number(key), spoiled) : { ...value, [key]: spoiled },
    ]),
  );
  return Array.isArray(value) ? inside : [[path, { ...value, undeclared: 1 }], ...inside];
}

function requiredOf(document: Document, id: string): string[] {
  const found = listOperations(document).find(({ operation }) => operation.operationId === id);
  const [[, success] = []] = Object.entries(found?.operation.responses ?? {});
  const media = success && resolveRef<Response>(document, success).content?.["application/json"];
  return media === undefined ? [] : (resolveRef<Schema>(document, media.schema as Schema).required ?? []);
}

describe("mistakes in a document", () => {
  const chatOf = (d: Document): object => d.paths["/v1/chat/completions"]?.post ?? {};
  const path = (name: string) => ({ name, in: "path", required: true, description: "x", schema: {} });

  for (const [name, spoil, mistake] of [
    ["a reference without a target", (d) => delete d.components.schemas.Usage, /schemas\/Usage points nowhere/],
    ["an unused schema", (d) => Object.assign(d.components.schemas, { Lost: {} }), /Lost is used nowhere/],
    ["an operation without a summary", (d) => Object.assign(chatOf(d), { summary: "" }), /no summary/],
    [
      "an operation without a response",
      (d) => Object.assign(chatOf(d), { responses: {} }),
      /there is no response for success/,
    ],
    ["a duplicate operation ID", (d) => Object.assign(chatOf(d), { operationId: "listModels" }), /listModels is taken/],
    [
      "an undeclared security scheme",
      (d) => Object.assign(chatOf(d), { security: [{ x: [] }] }),
      /no security scheme x/,
    ],
    ["an undeclared path parameter", (d) => Object.assign(d.paths, { "/a/{b}": { get: chatOf(d) } }), /\{b\} is no/],
    [
      "a parameter that the path lacks",
      (d) => Object.assign(chatOf(d), { parameters: [path("b")] }),
      /b is not in the path/,
    ],
    [
      "a duplicate parameter",
      (d) => Object.assign(chatOf(d), { parameters: [path("b"), path("b")] }),
      /b is there twice/,
    ],
  ] as [string, (d: Document) => unknown, RegExp][]) {
    test(`${name} is detected`, () => {
      const copy = structuredClone(buildDocument(publicApi));
      spoil(copy);
      assert.match(findMistakes(copy).join("\n"), mistake);
    });
  }

  test("a description of an unknown field or parameter, and a missing description, are detected", () => {
    assert.throws(() => describeFields({ properties: { a: {} } }, { b: "x" }), /no field b/);
    assert.throws(() => convertQueryParameters(requestRoutes.listRequests.query, {}), /model has no description/);
  });
});
