/** The output format (`response_format`) of both generation endpoints: which are refused, and what a job contains. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { chat } from "./chat.ts";
import { completions } from "./completions.ts";
import { embeddings } from "./embeddings.ts";
import { parseRefusedRequest, VALID_CHAT_REQUEST, VALID_MESSAGES } from "./testing-chat-request.ts";

describe("response_format", () => {
  const asks = (response_format: unknown) => ({ ...VALID_CHAT_REQUEST, response_format });
  const schemaOf = (json_schema: unknown) => asks({ type: "json_schema", json_schema });
  /** A schema with this number of nested levels; `{}` is one level. */
  const nested = (levels: number): object => (levels === 1 ? {} : { not: nested(levels - 1) });
  /** A schema whose JSON has this length in bytes. */
  const long = (bytes: number): object => ({ const: "x".repeat(bytes - '{"const":""}'.length) });
  /** A schema of less than 3 KB, which would expand to 2^40 alternatives. */
  const doubling = {
    anyOf: [{ $ref: "#/$defs/d0" }, { $ref: "#/$defs/d0" }],
    $defs: Object.fromEntries(
      Array.from({ length: 40 }, (_, i) => {
        const next = i === 39 ? { type: "null" } : { $ref: `#/$defs/d${i + 1}` };
        return [`d${i}`, { anyOf: [next, next] }];
      }),
    ),
  };
  const SCHEMA = "response_format.json_schema.schema";

  for (const [name, body, param, rule] of [
    ["no format", asks("json_object"), "response_format", /must be an object with type/],
    ["a list of formats", asks([{ type: "text" }]), "response_format", /must be an object with type/],
    ["a format without a type", asks({}), "response_format.type", /one of text, json_object, json_schema/],
    ["an unknown type", asks({ type: "grammar" }), "response_format.type", /one of text, json_object, json_schema/],
    ["no json_schema", asks({ type: "json_schema" }), "response_format.json_schema", /with name and schema/],
    ["no name", schemaOf({ schema: {} }), "response_format.json_schema.name", /1 to 64 characters/],
    ["an empty name", schemaOf({ name: "", schema: {} }), "response_format.json_schema.name", /1 to 64 characters/],
    [
      "a long name",
      schemaOf({ name: "x".repeat(65), schema: {} }),
      "response_format.json_schema.name",
      /1 to 64 characters/,
    ],
    ["a name with a space", schemaOf({ name: "a b", schema: {} }), "response_format.json_schema.name", /A-Z, a-z/],
    ["no schema", schemaOf({ name: "a" }), SCHEMA, /must be a JSON Schema object/],
    ["a schema that is true", schemaOf({ name: "a", schema: true }), SCHEMA, /must be a JSON Schema object/],
    ["a schema that is a list", schemaOf({ name: "a", schema: [] }), SCHEMA, /must be a JSON Schema object/],
    [
      "no valid schema",
      schemaOf({ name: "a", schema: { type: "objet" } }),
      SCHEMA,
      /at #\/type: must be one of object/,
    ],
    [
      "an invalid part",
      schemaOf({ name: "a", schema: { properties: { a: 1 } } }),
      SCHEMA,
      /at #\/properties\/a: must be/,
    ],
    [
      "a reference without a target",
      schemaOf({ name: "a", schema: { $ref: "#/$defs/a" } }),
      SCHEMA,
      /at #\/\$ref: must be/,
    ],
    ["definitions that double", schemaOf({ name: "a", schema: doubling }), SCHEMA, /at most 10000 schema parts/],
    ["101 levels", schemaOf({ name: "a", schema: nested(101) }), SCHEMA, /at most 100 levels deep/],
    ["1000 levels", schemaOf({ name: "a", schema: nested(1000) }), SCHEMA, /at most 100 levels deep/],
    ["one byte more than 64 KiB", schemaOf({ name: "a", schema: long(65_537) }), SCHEMA, /at most 64 KiB/],
    [
      "64 Ki characters of more than 64 KiB",
      schemaOf({ name: "a", schema: { const: "é".repeat(40_000) } }),
      SCHEMA,
      /at most 64 KiB/,
    ],
    [
      "strict as text",
      schemaOf({ name: "a", schema: {}, strict: "yes" }),
      "response_format.json_schema.strict",
      /true or false/,
    ],
  ] as [string, object, string, RegExp][]) {
    test(`with ${name} is refused on both generation endpoints, naming ${param}`, () => {
      for (const { parse } of [chat, completions]) {
        const refused = parseRefusedRequest(parse, { prompt: "hi", ...body });
        assert.equal(refused.param, param);
        assert.match(refused.message, rule);
        assert.ok(refused.message.startsWith(`"${param}" `), refused.message);
      }
    });
  }

  test("is sent in the job's body, only to nodes that support the format", () => {
    const schema = { type: "object", properties: { b: {}, a: {} } };
    const use = (keyword: string) => ({ needs: keyword, keyword, place: "#" });
    for (const [response_format, format] of [
      [{ type: "json_object" }, { type: "json_object" }],
      [
        { type: "json_schema", json_schema: { name: "x", schema, description: "ignored" } },
        { type: "json_schema", name: "x", schema },
      ],
      [
        { type: "json_schema", json_schema: { name: "x", schema, strict: null } },
        { type: "json_schema", name: "x", schema },
      ],
      [
        { type: "json_schema", json_schema: { name: "x", schema, strict: false } },
        { type: "json_schema", name: "x", schema, strict: false },
      ],
    ]) {
      const ask = chat.parse({ ...VALID_CHAT_REQUEST, response_format });
      const keywords = format?.type === "json_object" ? [] : [use("type"), use("properties")];
      assert.deepEqual(ask, {
        ...chat.parse(VALID_CHAT_REQUEST),
        body: { messages: VALID_MESSAGES, format },
        formatted: true,
        keywords,
      });
      const text = { model: "m", prompt: "hi" };
      const completion = completions.parse({ ...text, response_format });
      const body = { prompt: "hi", format };
      assert.deepEqual(completion, { ...completions.parse(text), body, formatted: true, keywords });
    }
  });

  test("has no effect if it is text or null", () => {
    for (const response_format of [{ type: "text" }, { type: "text", json_schema: 7 }, null]) {
      assert.deepEqual(chat.parse({ ...VALID_CHAT_REQUEST, response_format }), chat.parse(VALID_CHAT_REQUEST));
    }
    assert.equal(chat.parse(VALID_CHAT_REQUEST).formatted, false);
    assert.equal(
      embeddings.parse({ model: "m", input: "a", response_format: { type: "json_object" } }).formatted,
      false,
    );
  });

  test("limits a schema to 64 KiB and 100 levels", () => {
    assert.ok(chat.parse(schemaOf({ name: "x".repeat(64), schema: nested(100), strict: true })));
    assert.ok(chat.parse(schemaOf({ name: "A-z_0", schema: long(65_536) })));
  });
});
