import assert from "node:assert/strict";
import { test } from "node:test";
import { findKeyName } from "../keys/key-names.ts";
import { describeKeysRefusedForCredit } from "./keys-refused-for-credit.ts";

const LISTED = ["a", "b", "c", "d"].map((id) => ({ id, name: id.toUpperCase() }));
const nameOf = (id: string): string => findKeyName(LISTED, id);
const rows = (...of: [string, number][]) => of.map(([key, requests]) => ({ key, requests }));

test("combines the playground keys of all sessions under one name", () => {
  assert.equal(
    describeKeysRefusedForCredit(rows(["a", 3], ["session 1", 2], ["session 2", 2]), nameOf),
    "Playground: 4, A: 3",
  );
});

test("names the three keys with the most refused requests, in order", () => {
  assert.equal(
    describeKeysRefusedForCredit(rows(["a", 1], ["b", 1200], ["c", 3], ["d", 2]), nameOf),
    "B: 1,200, C: 3, D: 2 and 1 more key",
  );
});
