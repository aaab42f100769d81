import assert from "node:assert/strict";
import { test } from "node:test";
import { isPlainText, isStorable } from "./plain-text.ts";

const NUL = "\u0000";
const HALVES = ["\ud83d", "\ude00", "\udbff"];

test("plain text must not contain control characters or halves of surrogate pairs", () => {
  for (const text of ["", "a name", "\u202Eright to left", "😀", "\\u0000"]) assert.ok(isPlainText(text), text);
  for (const text of [NUL, "a\nb", "\u007f", ...HALVES.map((half) => `a${half}b`)]) {
    assert.ok(!isPlainText(text), JSON.stringify(text));
  }
});

test("an object counts as storable if PostgreSQL accepts all its text, at any depth", () => {
  const said = { gpu: "😀", path: "C:\\u0000\\ud800", deep: [{ line: "a\nb" }] };
  assert.ok(isStorable(said));
  for (const bad of [NUL, `\\${NUL}`, ...HALVES]) {
    assert.ok(!isStorable({ ...said, bad }), JSON.stringify(bad));
    assert.ok(!isStorable({ ...said, deep: [{ [bad]: 1 }] }), JSON.stringify(bad));
  }
});
