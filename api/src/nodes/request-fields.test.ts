/** Tests of the request fields with which a node is registered. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { validateFields } from "../validate-fields.ts";
import { NodeRegistrationFields } from "./request-fields.ts";

/** Returns the field and the rule of the error. Undefined if the body is accepted. */
function refusal(fields: object): [param: unknown, message: string] | undefined {
  const checked = validateFields(NodeRegistrationFields, { name: "box", ...fields });
  return "wrong" in checked ? [checked.wrong.extra.param, checked.wrong.message] : undefined;
}

const nested = (levels: number): unknown => (levels === 0 ? 1 : { in: nested(levels - 1) });
/** An object with exactly this many bytes of JSON. */
const sized = (bytes: number) => ({ n: "x".repeat(bytes - '{"n":""}'.length) });

test("the hardware description in a node registration is limited to 8 KiB as JSON, counted in bytes", () => {
  assert.equal(refusal({ hardware: sized(8192) }), undefined);
  assert.deepEqual(refusal({ hardware: sized(8193) }), [
    "hardware",
    '"hardware" must have at most 8 KiB (8192 bytes) as JSON',
  ]);
  assert.equal(refusal({ hardware: { n: "ü".repeat(4100) } })?.[0], "hardware");
  assert.equal(
    refusal({ hardware: Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [i, i])) })?.[0],
    "hardware",
  );
});

test("the hardware description in a node registration is limited in depth and has no characters that PostgreSQL cannot store", () => {
  assert.equal(refusal({ hardware: nested(8) }), undefined);
  assert.deepEqual(refusal({ hardware: nested(9) }), ["hardware", '"hardware" must be at most 8 levels deep']);
  assert.equal(refusal({ hardware: { deep: JSON.parse(`${"[".repeat(4000)}${"]".repeat(4000)}`) } })?.[0], "hardware");
  for (const text of ["a\u0000b", "\ud800"]) assert.equal(refusal({ hardware: { text } })?.[0], "hardware", text);
});

test("the fields name and agent of a node registration must each be one short line of text", () => {
  for (const fields of [{ name: "x".repeat(201) }, { name: "a\nb" }, { agent: "x".repeat(65) }, { agent: "a\u0000" }]) {
    assert.equal(refusal(fields)?.[0], Object.keys(fields)[0]);
  }
});
