import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { countPatternParts, readSchema, SCHEMA_PARTS_MAX } from "./json-schema.ts";

type Schema = Record<string, unknown>;

const refused = (schema: Schema): { place: string; rule: string } => {
  const reading = readSchema(schema);
  assert.ok(!reading.isValid, JSON.stringify(schema));
  return reading;
};
const needs = (schema: Schema): string[] => {
  const reading = readSchema(schema);
  assert.ok(reading.isValid, JSON.stringify(reading));
  return reading.uses.map((use) => use.needs).sort();
};
const object = (property: unknown): Schema => ({ type: "object", properties: { a: property } });

describe("JSON Schema validation", () => {
  test("reports the place and the rule that an invalid schema breaks", () => {
    for (const [schema, place, rule] of [
      [object({ type: "strnig" }), "#/properties/a/type", /must be one of object/],
      [object({ type: ["string", "string"] }), "#/properties/a/type", /different/],
      [object([]), "#/properties/a", /must be a schema/],
      [{ properties: [] }, "#/properties", /object of schemas/],
      [{ items: 3 }, "#/items", /must be a schema/],
      [{ anyOf: [] }, "#/anyOf", /at least one/],
      [{ anyOf: [true, null] }, "#/anyOf/1", /must be a schema/],
      [{ anyOf: {} }, "#/anyOf", /array/],
      [{ enum: [] }, "#/enum", /at least one/],
      [{ minimum: "1" }, "#/minimum", /number/],
      [{ exclusiveMinimum: true }, "#/exclusiveMinimum", /number/],
      [{ multipleOf: 0 }, "#/multipleOf", /above 0/],
      [{ minLength: -1 }, "#/minLength", /0 or more/],
      [{ maxItems: 1.5 }, "#/maxItems", /integer/],
      [{ required: ["a", "a"] }, "#/required", /different/],
      [{ pattern: "(" }, "#/pattern", /regular expression/],
      [{ patternProperties: { "[": {} } }, "#/patternProperties/[", /regular expression/],
      [{ properties: { "a/b": { type: 1 } } }, "#/properties/a~1b/type", /must be one of/],
      [{ $defs: { unused: { type: "no" } } }, "#/$defs/unused/type", /must be one of/],
    ] as const) {
      const problem = refused(schema as Schema);
      assert.equal(problem.place, place);
      assert.match(problem.rule, rule);
    }
  });

  test("refuses references that are unresolved, external or circular", () => {
    for (const $ref of ["https://example.com/a", "#/$defs/none", "#/$defs", "#a", "#/properties/a/type"])
      assert.equal(refused({ ...object({ $ref }), $defs: { b: true } }).place, "#/properties/a/$ref");
    const itself = { $ref: "#/$defs/a", $defs: { a: { anyOf: [{ type: "null" }, { $ref: "#/$defs/a" }] } } };
    assert.match(refused(itself).rule, /lead back to itself/);
    const list = { $ref: "#/$defs/a", $defs: { a: object({ anyOf: [{ type: "null" }, { $ref: "#/$defs/a" }] }) } };
    assert.equal(readSchema(list).isValid, true);
    assert.equal(readSchema(object({ $ref: "#" })).isValid, true);
    assert.equal(readSchema({ $ref: "#/$defs/a~1b%20c", $defs: { "a/b c": true } }).isValid, true);
  });

  test("agrees with the official meta-schema of JSON Schema 2020-12", () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false });
    const value = fc.oneof(
      ...[fc.constantFrom<unknown>(true, "string", "number", null, 0, -1, 2, 1.5, {}, [], ["a"], ["a", "a"])],
      ...[fc.constantFrom<unknown>(["string", "null"], { a: ["b"] }, { a: 1 })],
    );
    const keywords = [
      ...["type", "const", "required", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
      ...[
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minContains",
        "maxContains",
        "minProperties",
        "maxProperties",
      ],
      ...["uniqueItems", "format", "dependentRequired", "title", "x-unknown", "additionalProperties", "propertyNames"],
      ...[
        "dependentSchemas",
        "items",
        "prefixItems",
        "contains",
        "anyOf",
        "oneOf",
        "allOf",
        "not",
        "if",
        "then",
        "else",
      ],
      ...["properties", "patternProperties", "$defs", "unevaluatedItems", "unevaluatedProperties"],
    ];
    const { schema } = fc.letrec((tie) => {
      const inner = fc.oneof({ maxDepth: 3, withCrossShrink: true }, value, tie("schema"));
      const many = fc.oneof(inner, fc.array(inner, { maxLength: 2 }), fc.dictionary(fc.constantFrom("a", "b"), inner));
      return {
        schema: fc.dictionary(fc.constantFrom(...keywords), many, { maxKeys: 4 }),
      };
    });
    // Whether a schema has a list under `items`, which only older drafts of JSON Schema allow.
    const isOlder = (one: unknown): boolean =>
      typeof one === "object" &&
      one !== null &&
      (("items" in one && Array.isArray(one.items)) || Object.values(one).some(isOlder));
    fc.assert(
      fc.property(schema, (drawn) => {
        fc.pre(!isOlder(drawn));
        assert.equal(readSchema(drawn as Schema).isValid, ajv.validateSchema(drawn as Schema) === true);
      }),
      { numRuns: 500 },
    );
  });
});

describe("JSON Schema expansion", () => {
  /** A schema in which each definition references the next one twice. */
  const doubling = (levels: number, link: (next: Schema) => Schema): Schema => {
    const $defs = Object.fromEntries(
      Array.from({ length: levels }, (_, i) => [`d${i}`, link({ $ref: `#/$defs/d${i + 1}` })]),
    );
    return {
      type: "object",
      properties: { a: { $ref: "#/$defs/d0" } },
      $defs: { ...$defs, [`d${levels}`]: { type: "null" } },
    };
  };

  test("refuses a schema that doubles in size with every level of references", () => {
    for (const link of [
      (next: Schema): Schema => ({ anyOf: [next, next] }),
      (next: Schema): Schema => ({ type: "object", properties: { x: next, y: next } }),
      (next: Schema): Schema => ({ oneOf: [{ type: "array", items: next }, { anyOf: [next, { const: 1 }] }] }),
    ]) {
      const reading = readSchema(doubling(40, link));
      assert.ok(!reading.isValid && /at most 10000 schema parts/.test(reading.rule));
      assert.ok(reading.steps <= SCHEMA_PARTS_MAX + 1);
      assert.equal(readSchema(doubling(8, link)).isValid, true);
    }
    const round = doubling(40, (next) => ({ anyOf: [next, next, object({ $ref: "#/$defs/d0" })] }));
    assert.equal(readSchema(round).isValid, false);
  });

  test("counts repeated items, characters and pattern parts towards the size limit", () => {
    for (const part of [
      { type: "string", maxLength: 10_001 },
      { type: "string", minLength: 1e9 },
      { type: "array", items: { type: "null" }, maxItems: 20_000 },
      { type: "string", pattern: "^(a{200}){200}$" },
      { enum: Array.from({ length: 10_001 }, (_, i) => i) },
    ])
      assert.match(refused(object(part)).rule, /at most 10000 schema parts/);
    assert.equal(readSchema(object({ type: "string", maxLength: 9_000 })).isValid, true);
  });

  test("counts the parts of a regular expression, multiplying repeated groups", () => {
    for (const [pattern, steps] of [
      ["^abc$", 5],
      ["a{3}", 3],
      ["[a-z\\]]{2,5}x", 6],
      ["(ab){10}", 30],
      ["((a{10}){10}){10}", 1_110],
      ["\\d{4}-\\d{2}-\\d{2}", 10],
      ["a{1,}", 1],
      ["{x}", 3],
    ] as const)
      assert.equal(countPatternParts(pattern), steps, pattern);
  });

  test("never takes more steps than the limit, whatever the references", () => {
    const names = ["a", "b", "c", "d", "e", "f"];
    const link = fc.oneof(
      fc.constantFrom(...names).map((name): Schema => ({ $ref: `#/$defs/${name}` })),
      fc.constantFrom<Schema>({ type: "null" }, { type: "string", maxLength: 50 }, {}),
    );
    const links = fc.array(link, { minLength: 1, maxLength: 5 });
    const part = fc.oneof(
      links.map((anyOf): Schema => ({ anyOf })),
      links.map((all): Schema => ({ type: "object", properties: Object.fromEntries(all.entries()) })),
      link.map((items): Schema => ({ type: "array", items })),
    );
    const defs = fc.record(Object.fromEntries(names.map((name) => [name, part])));
    fc.assert(
      fc.property(defs, link, ($defs, root) => {
        const { steps } = readSchema({ ...root, $defs });
        assert.ok(steps <= SCHEMA_PARTS_MAX + 51);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("JSON Schema keywords", () => {
  test("lists the keywords that an engine must enforce, with their first use", () => {
    const reading = readSchema({
      type: "object",
      title: "t",
      "x-mine": 1,
      properties: { age: { type: "integer", minimum: 0, description: "d" }, size: { type: "number", maximum: 2 } },
      required: ["age"],
      additionalProperties: false,
      $defs: { unused: { type: "string", pattern: "a" } },
    });
    assert.ok(reading.isValid);
    assert.deepEqual(
      reading.uses.map((use) => [use.needs, use.keyword, use.place]),
      [
        ["type", "type", "#"],
        ["properties", "properties", "#"],
        ["required", "required", "#"],
        ["additionalProperties", "additionalProperties", "#"],
        ["minimum", "minimum", "#/properties/age"],
        ["maximum:number", "maximum", "#/properties/size"],
      ],
    );
  });

  test("omits keywords that constrain nothing", () => {
    assert.deepEqual(needs({}), []);
    assert.deepEqual(needs({ default: 1, examples: [], discriminator: {}, additionalProperties: true }), []);
    assert.deepEqual(needs({ type: "string", minLength: 0, minimum: 1, format: "color" }), ["type"]);
    assert.deepEqual(needs({ type: "array", items: true, uniqueItems: false }), ["type"]);
  });

  test("distinguishes uses of a keyword that engines treat differently", () => {
    assert.deepEqual(needs({ type: "string", format: "email" }), ["format:email", "type"]);
    assert.deepEqual(needs({ type: "string", pattern: "^a$" }), ["pattern", "type"]);
    assert.deepEqual(needs({ type: "string", pattern: "a" }), ["pattern:part", "type"]);
    assert.deepEqual(needs({ minimum: 1 }), ["minimum:number"]);
    assert.deepEqual(needs({ maxLength: 1 }), ["maxLength:untyped"]);
    assert.deepEqual(needs({ type: ["integer", "null"], maximum: 1 }), ["maximum", "type"]);
    assert.deepEqual(needs({ type: "object", required: ["a"] }), ["required:unnamed", "type"]);
    assert.deepEqual(needs({ allOf: [{ type: "string" }] }), ["allOf:one", "type"]);
    assert.deepEqual(needs({ allOf: [{ type: "string" }, { maxLength: 1 }] }), ["allOf", "maxLength:untyped", "type"]);
    assert.deepEqual(needs({ type: "string", enum: ["a"] }), ["enum", "type"]);
    assert.deepEqual(needs({ anyOf: [true], maxLength: 3 }), ["allOf", "anyOf", "maxLength:untyped"]);
    assert.deepEqual(needs({ type: "array", items: false }), ["items:false", "type"]);
    assert.deepEqual(needs({ items: [true, false] }), ["false", "prefixItems"]);
  });
});
