import assert from "node:assert/strict";
import { test } from "node:test";
import { findKeyName } from "./key-names.ts";

test("shows a listed key's name, and Playground for other keys", () => {
  const listed = [{ id: "key_a", name: "production" }];
  assert.equal(findKeyName(listed, "key_a"), "production");
  assert.equal(findKeyName(listed, "key_of_a_session"), "Playground");
  assert.equal(findKeyName(listed, "playground"), "Playground");
});

test("shows the key's ID until the list of keys is loaded", () => {
  assert.equal(findKeyName(undefined, "key_a"), "key_a");
  assert.equal(findKeyName(undefined, "playground"), "Playground");
});
