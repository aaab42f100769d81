import assert from "node:assert/strict";
import { test } from "node:test";
import { EngineError } from "../engine.ts";
import { grammarSchema } from "./schema-subset.ts";

const object = (property: unknown, more: object = {}): Record<string, unknown> => ({
  type: "object",
  properties: { a: property },
  ...more,
});

test("what the library knows goes through; remarks do not matter, and other ways to say it come out the same", () => {
  const string = { type: "string" };
  const cases: [schema: Record<string, unknown>, grammar: unknown][] = [
    [
      {
        ...object({ type: "string", description: "d", default: "" }),
        title: "t",
        required: ["a"],
        additionalProperties: false,
      },
      object(string),
    ],
    [
      object({ type: "array", items: { type: "integer" }, minItems: 1, maxItems: 3, uniqueItems: false }),
      object({ type: "array", items: { type: "integer" }, minItems: 1, maxItems: 3 }),
    ],
    [object({ anyOf: [string, { type: "null" }] }), object({ oneOf: [string, { type: "null" }] })],
    [object({ allOf: [string] }), object(string)],
    [
      object({ type: ["string", "null"], maxLength: 5 }),
      object({ oneOf: [{ type: "string", maxLength: 5 }, { type: "null" }] }),
    ],
    [object({ type: "string", enum: ["x", 1, null] }), object({ enum: ["x"] })],
    [object({ const: 4 }), object({ enum: [4] })],
    [object({ type: "string", format: "date" }), object({ type: "string", format: "date" })],
    [object({ properties: {} }), object({ type: "object", additionalProperties: true })],
    [
      { type: "object", additionalProperties: string },
      { type: "object", additionalProperties: string },
    ],
    [
      {
        ...object({ $ref: "#/definitions/b" }),
        definitions: { b: object({ type: "array", items: { $ref: "#/definitions/b" } }) },
      },
      { ...object({ $ref: "#/$defs/b" }), $defs: { b: object({ type: "array", items: { $ref: "#/$defs/b" } }) } },
    ],
  ];
  for (const [schema, grammar] of cases) assert.deepEqual(grammarSchema(schema), grammar);
});

test("what it would pass over is refused by name, and the blame is not the engine's", () => {
  const cases: [schema: Record<string, unknown>, message: RegExp][] = [
    [object({ type: "string", pattern: "^a" }), /pattern/],
    [object({ type: "integer", minimum: 1 }), /minimum/],
    [object({ type: "number", multipleOf: 2 }), /multipleOf/],
    [object({ type: "string", format: "email" }), /format/],
    [object({ type: "array", uniqueItems: true }), /uniqueItems/],
    [object({ type: "array", prefixItems: [] }), /prefixItems/],
    [object({ not: { type: "string" } }), /no type/],
    [object({}), /no type/],
    [object(true), /not a schema/],
    [object({ type: "thing" }), /type thing/],
    [object({ type: ["string", "null"], minimum: 3 }), /minimum/],
    [object({ allOf: [{ type: "string" }, { maxLength: 3 }] }), /allOf/],
    [object({ anyOf: [{ type: "string" }], type: "string" }), /type beside anyOf/],
    [object({ enum: [["x"]] }), /enum/],
    [object({ type: "string", enum: [1] }), /enum/],
    [object({ type: "string" }, { required: ["b"] }), /required/],
    [object({ type: "string" }, { patternProperties: {} }), /patternProperties/],
    [object({ type: "string" }, { minProperties: 1 }), /minProperties/],
    [object({ type: "string" }, { if: {} }), /if/],
    [object({ $ref: "https://elsewhere" }), /\$ref/],
    [object({ $ref: "#/$defs/none" }), /\$ref/],
    [object({ type: "string", $defs: {} }), /definitions below/],
    [{ $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/a" } } }, /refers to itself/],
    [{ $ref: "#/$defs/a", $defs: { a: { anyOf: [{ type: "null" }, { $ref: "#/$defs/a" }] } } }, /refers to itself/],
    [object({ type: "string", minLength: 4, maxLength: 3 }), /maxLength/],
    [object({ type: "array", maxItems: 1e9 }), /too many/],
    [object({ type: "string", maxLength: -1 }), /maxLength/],
  ];
  for (const [schema, message] of cases)
    assert.throws(
      () => grammarSchema(schema),
      (error) => error instanceof EngineError && error.blame === "prompt" && message.test(error.message),
      String(message),
    );
});
