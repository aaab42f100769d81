import assert from "node:assert/strict";
import { test } from "node:test";
import { keyName } from "./key-names.ts";

test("shows a listed key's name, and Playground for other keys", () => {
  const listed = [{ id: "key_a", name: "production" }];
  assert.equal(keyName(listed, "key_a"), "production");
  assert.equal(keyName(listed, "key_of_a_session"), "Playground");
  assert.equal(keyName(listed, "playground"), "Playground");
});

test("shows the key's ID until the list of keys is loaded", () => {
  assert.equal(keyName(undefined, "key_a"), "key_a");
  assert.equal(keyName(undefined, "playground"), "Playground");
});
