import assert from "node:assert/strict";
import { test } from "node:test";
import { prettyJson } from "./pretty-json.ts";

test("puts each member on its own line and changes nothing else", () => {
  assert.equal(
    prettyJson(' {"a":12345678901234567890,"b":[1.50,"x, {\\"}"],"c":{},"d":[ ],"a":null}\n'),
    `{
  "a": 12345678901234567890,
  "b": [
    1.50,
    "x, {\\"}"
  ],
  "c": {},
  "d": [],
  "a": null
}`,
  );
});

test("leaves invalid, incomplete and too deeply nested JSON unchanged", () => {
  for (const text of ["Hello", "42", '{"a":', "[1] and more", `${"[".repeat(60)}${"]".repeat(60)}`, ""]) {
    assert.equal(prettyJson(text), undefined, text);
  }
});
