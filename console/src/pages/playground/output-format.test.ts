import assert from "node:assert/strict";
import { test } from "node:test";
import { type OutputFormatInput, PLAIN_TEXT_FORMAT, parseOutputFormat } from "./output-format.ts";

const schema = (text: string, more: Partial<OutputFormatInput> = {}): OutputFormatInput => ({
  format: "json_schema",
  schemaName: "river",
  schema: text,
  ...more,
});
const nested = (levels: number): string => `${'{"not":'.repeat(levels - 1)}{}${"}".repeat(levels - 1)}`;

test("sends no response format for text, and the chosen format otherwise", () => {
  assert.deepEqual(parseOutputFormat(PLAIN_TEXT_FORMAT), { field: undefined, problems: {} });
  assert.deepEqual(parseOutputFormat({ ...PLAIN_TEXT_FORMAT, format: "json_object" }).field, { type: "json_object" });
  assert.deepEqual(parseOutputFormat(schema('{"type":"object"}')).field, {
    type: "json_schema",
    json_schema: { name: "river", schema: { type: "object" }, strict: true },
  });
});

test("shows next to the field why the API would refuse a schema", () => {
  const wrong = {
    "": /Enter a JSON Schema/,
    "{": /^Not valid JSON: /,
    "[]": /object/,
    null: /object/,
    [nested(101)]: /100 levels/,
  };
  for (const [text, problem] of Object.entries(wrong)) {
    const { field, problems } = parseOutputFormat(schema(text));
    assert.equal(field, undefined);
    assert.match(problems.schema ?? "", problem);
  }
  assert.match(
    parseOutputFormat(schema(JSON.stringify({ a: "x".repeat(65_536) }))).problems.schema ?? "",
    /64 KiB; it has 65/,
  );
  assert.ok(parseOutputFormat(schema(nested(100))).field);
  for (const schemaName of ["", "a b", "ä", "x".repeat(65)]) {
    const read = parseOutputFormat(schema("{}", { schemaName }));
    assert.deepEqual([read.field, Object.keys(read.problems)], [undefined, ["schemaName"]]);
  }
});
