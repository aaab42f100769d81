import assert from "node:assert/strict";
import { test } from "node:test";
import { computeKeyPermissions } from "./key-permissions.ts";

const by = (email: string | null) => ({ created_by: email === null ? null : { name: "a", email } });

test("lets members change the keys that they created, owners all keys, viewers none", () => {
  const keys = [by("me@x"), by("other@x"), by(null)];
  const edits = (...may: ("read" | "work" | "own")[]) => keys.map(computeKeyPermissions(may, "me@x").edit);
  assert.deepEqual(edits("read", "work"), [true, false, false]);
  assert.deepEqual(edits("read", "work", "own"), [true, true, true]);
  assert.deepEqual(edits("read"), [false, false, false]);
  assert.deepEqual(
    [computeKeyPermissions(["read", "work"], "").revoke, computeKeyPermissions(["read"], "").revoke],
    [true, false],
  );
});
