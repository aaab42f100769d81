import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { getLlama, type Llama, LlamaGrammarEvaluationState, LlamaLogLevel, type LlamaModel } from "node-llama-cpp";
import { EngineError } from "../engine.ts";
import { buildSchemaGrammar } from "./schema-grammar.ts";

type Schema = Record<string, unknown>;
const MODEL_FILE = fileURLToPath(new URL("../../../models/tollgate-demo.gguf", import.meta.url));
const object = (property: unknown, more: object = {}): Schema => ({
  type: "object",
  properties: { a: property },
  ...more,
});

/** The library's sampling grammar, with a method that tests single tokens. */
interface Matcher {
  canBeNextTokenForGrammarEvaluationState(state: unknown, token: number): boolean;
  acceptGrammarEvaluationStateToken(state: unknown, token: number): void;
}

describe("a schema's grammar in llama.cpp's own matcher", () => {
  let llama: Llama;
  let model: LlamaModel;
  before(async () => {
    llama = await getLlama({ build: "never", skipDownload: true, gpu: false, logLevel: LlamaLogLevel.error });
    model = await llama.loadModel({ modelPath: MODEL_FILE });
  });
  after(() => llama.dispose());

  const accepts = async (schema: Schema, json: string): Promise<boolean> => {
    const grammar = await llama.createGrammar({ grammar: buildSchemaGrammar(schema) });
    const { _state: state } = new LlamaGrammarEvaluationState({ model, grammar }) as unknown as { _state: unknown };
    const { AddonSampler: matcher } = (llama as unknown as { _bindings: { AddonSampler: Matcher } })._bindings;
    for (const token of model.tokenize(json)) {
      if (!matcher.canBeNextTokenForGrammarEvaluationState(state, token)) return false;
      matcher.acceptGrammarEvaluationStateToken(state, token);
    }
    return matcher.canBeNextTokenForGrammarEvaluationState(state, model.tokens.eos as number);
  };

  const string = { type: "string" };
  const node = object({ anyOf: [{ $ref: "#" }, { type: "null" }] });
  for (const [name, schema, fits, others] of [
    ["a string", string, ['""', '"a b"', '"\\n\\u00e9"', '"é"'], ['"', "1", '"\\ud800"', "null", '"\n"']],
    ["lengths", { ...string, minLength: 2, maxLength: 3 }, ['"ab"', '"äöü"'], ['"a"', '"abcd"']],
    [
      "a range of integers",
      { type: "integer", minimum: 1, maximum: 120 },
      ["1", "99", "120"],
      ["0", "121", "-5", "1.0"],
    ],
    ["a lower bound", object({ type: "integer", minimum: 1 }), ['{"a": 1}', '{"a":4711}'], ['{"a": 0}', '{"a": -1}']],
    ["exclusive bounds", { type: "integer", exclusiveMinimum: -3, exclusiveMaximum: 2.5 }, ["-2", "2"], ["-3", "3"]],
    ["numbers without exponents", { type: "number" }, ["-1.5", "0"], ["1e5", "01", "."]],
    ["types", { type: ["string", "null"], maxLength: 2 }, ['"ab"', "null"], ['"abc"', "1"]],
    [
      "values",
      { enum: ["on", "one", 1, 12, null, { x: [1] }, "😀", "😁"] },
      ['"on"', '"one"', "1", "12", '{"x":[1]}', '"😁"'],
      ['"o"', "2", "{}"],
    ],
    ["values of a type", { ...string, enum: ["x", 1] }, ['"x"'], ["1"]],
    ["a constant", { const: 'a "b"\n' }, ['"a \\"b\\"\\n"'], ['"a"']],
    ["a date", { ...string, format: "date" }, ['"2024-02-28"', '"1999-12-31"'], ['"2024-02-30"', '"2024-13-01"']],
    ["a time", { ...string, format: "date-time" }, ['"2024-02-28T23:59:59Z"'], ['"2024-02-28T24:00:00Z"']],
    [
      "an array",
      { type: "array", items: { type: "null" }, minItems: 1, maxItems: 2 },
      ["[null]", "[null, null]"],
      ["[]", "[null,null,null]"],
    ],
    ["an empty array", { type: "array", maxItems: 0 }, ["[]"], ["[1]"]],
    ["anything", {}, ["1", '{"a":[{}, true]}', "[]"], ["{", "nul"]],
    ["any object", { type: "object" }, ["{}", '{"b": 1, "c": null}'], ["[]"]],
    ["a map", { type: "object", additionalProperties: { type: "null" } }, ['{"x": null}', "{}"], ['{"x": 1}']],
    ["no properties", { type: "object", additionalProperties: false }, ["{}"], ['{"x": 1}']],
    ["properties in their order", { properties: { a: string, b: string } }, ['{"a":"","b":""}'], ['{"b":"","a":""}']],
    [
      "references and recursion",
      { $ref: "#/$defs/n", $defs: { n: object({ type: "array", items: { $ref: "#/$defs/n" } }) } },
      ['{"a":[{"a":[]}]}'],
      ['{"a":[1]}'],
    ],
    ["a recursive object that ends", node, ["{}", '{"a":{"a":null}}'], ['{"a":1}', '{,"a":null}']],
    ["required of a recursive object", { ...node, required: ["a"] }, ['{"a":null}'], ["{}"]],
    ["one schema of all", { allOf: [{ type: "null" }] }, ["null"], ["1"]],
  ] as [string, Schema, string[], string[]][])
    test(name, async () => {
      for (const json of fits) assert.ok(await accepts(schema, json), `accepts ${json}`);
      for (const json of others) assert.ok(!(await accepts(schema, json)), `refuses ${json}`);
    });
});

test("a schema with an unsupported keyword is refused as a mistake in the request, and the error names the keyword", () => {
  const wide = Array.from({ length: 101 }, (_, i) => object({ const: i }));
  const cases: [schema: Schema, message: RegExp][] = [
    [object({ type: "string", pattern: "^a" }), /pattern at #\/properties\/a/],
    [object({ type: "number", minimum: 1 }), /minimum at #\/properties\/a/],
    [object({ type: "integer", multipleOf: 2 }), /multipleOf/],
    [object({ type: "string", format: "email" }), /format/],
    [object({ type: "array", uniqueItems: true }), /uniqueItems/],
    [object({ not: { type: "string" } }), /not/],
    [object({ allOf: [{ type: "string" }, { type: "null" }] }), /allOf/],
    [object({ anyOf: [{ type: "string" }], type: "string" }), /type at/],
    [object({ type: "string" }, { required: ["b"] }), /required/],
    [object({ type: "string", enum: [1] }), /enum/],
    [object({ type: "string", minLength: 4, maxLength: 3 }), /maxLength/],
    [object({ type: "integer", minimum: 2, maximum: 1 }), /range/],
    [object({ type: "thing" }), /must be one of/],
    [object({ anyOf: wide }), /more than 100 alternatives/],
    [
      object(
        { anyOf: [{ anyOf: wide.slice(0, 60) }, { $ref: "#/$defs/w" }] },
        { $defs: { w: { anyOf: wide.slice(0, 60) } } },
      ),
      /alternatives/,
    ],
  ];
  for (const [schema, message] of cases)
    assert.throws(
      () => buildSchemaGrammar(schema),
      (error) => error instanceof EngineError && error.blame === "prompt" && message.test(error.message),
      String(message),
    );
});

test("a schema whose definitions double with every level is refused immediately", () => {
  const link = (i: number): Schema => ({ $ref: `#/$defs/d${i}` });
  const $defs = Object.fromEntries(
    Array.from({ length: 60 }, (_, i) => [`d${i}`, { anyOf: [link(i + 1), link(i + 1)] }]),
  );
  assert.throws(
    () => buildSchemaGrammar({ ...object(link(0)), $defs: { ...$defs, d60: { type: "null" } } }),
    /at most 10000 schema parts/,
  );
});
