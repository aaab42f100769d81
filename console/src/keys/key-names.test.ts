import assert from "node:assert/strict";
import { test } from "node:test";
import { keyName } from "./key-names.ts";

test("a key is called by its name; what no list shows is the playground's", () => {
  const listed = [{ id: "key_a", name: "production" }];
  assert.equal(keyName(listed, "key_a"), "production");
  assert.equal(keyName(listed, "key_of_a_session"), "Playground");
  assert.equal(keyName(listed, "playground"), "Playground");
});

test("until the list is there, a key is its id", () => {
  assert.equal(keyName(undefined, "key_a"), "key_a");
  assert.equal(keyName(undefined, "playground"), "Playground");
});
