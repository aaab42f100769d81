import assert from "node:assert/strict";
import { test } from "node:test";
import { applyCompletion, suggestCompletions } from "./filter-completions.ts";

const KNOWN = { models: ["tiny-3b", "small-8b"], keys: ["web", "web", "nightly jobs"], labels: ["a b"] };
const words = (text: string): string[] => suggestCompletions(text, KNOWN).map(({ word }) => word);

test("offers field names first, and after a minus only fields that support exclusion", () => {
  assert.deepEqual(words("").length, 8);
  assert.deepEqual(words("model:tiny-3b t"), ["tokens>", "ttft>"]);
  assert.deepEqual(words("-"), ["-model:", "-key:", "-outcome:", "-label:"]);
  assert.deepEqual(words("x"), []);
});

test("offers values that contain the typed text, quoted where needed", () => {
  assert.deepEqual(words("model:3"), ["model:tiny-3b"]);
  assert.deepEqual(words("-key:"), ["-key:web", '-key:"nightly jobs"']);
  assert.deepEqual(words('label:"a '), ['label:"a b"']);
  assert.ok(words("outcome:rate").every((word) => word.startsWith("outcome:rate_limit_")));
  assert.deepEqual(words("cost>"), []);
});

test("replaces only the last word with a completion", () => {
  assert.equal(applyCompletion("outcome:ok mod", { word: "model:", isWhole: false }), "outcome:ok model:");
  assert.equal(applyCompletion("outcome:ok ", { word: "model:", isWhole: false }), "outcome:ok model:");
});
