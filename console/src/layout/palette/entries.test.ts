import assert from "node:assert/strict";
import { test } from "node:test";
import { type Entry, matching, placeOf, requestEntry } from "./entries.ts";

const entry = (group: string, label: string, hint?: string): Entry => ({
  id: `${group} ${label}`,
  group,
  label,
  ...(hint !== undefined && { hint }),
});
const ALL = [
  entry("Build", "Overview"),
  entry("Build", "API keys"),
  entry("Operate", "Accounts"),
  entry("Keys", "key of the shop", "tg_live_abc"),
  entry("Account", "Shop", "builder account"),
];
const found = (typed: string): string[] => matching(ALL, typed).map(({ label }) => label);

test("all words are looked for, in any order and case; what begins so comes first", () => {
  assert.deepEqual(
    found(""),
    ALL.map(({ label }) => label),
  );
  assert.deepEqual(found("key"), ["key of the shop", "API keys"]);
  assert.deepEqual(found("SHOP key"), ["key of the shop"]);
  assert.deepEqual(found("account"), ["Accounts", "Shop"]);
  assert.deepEqual(found("nothing like it"), []);
});

test("what belongs together stands together", () => {
  const groups = matching([entry("a", "x"), entry("b", "xx"), entry("a", "yx")], "x").map(({ group }) => group);
  assert.deepEqual(groups, ["a", "a", "b"]);
});

test("a request is opened by its id, and by nothing else", () => {
  assert.deepEqual(
    requestEntry(" REQ_01m7fb0r62f9aajmpvfeyyxtaf ", { builds: true, operates: true }).map(({ to }) => to),
    ["/requests", "/operator/requests"].map((path) => ({
      path,
      search: { request: "req_01m7fb0r62f9aajmpvfeyyxtaf" },
    })),
  );
  for (const text of ["req_", "req_1/../x", "01m7fb0r62f9aajmpvfeyyxtaf", "request"])
    assert.deepEqual(requestEntry(text, { builds: true, operates: true }), []);
});

test("a thing with a page of its own is shown there, another in its list", () => {
  assert.deepEqual(placeOf(["/models", "/models/$id"], "/models", "model", "tiny 3b"), { path: "/models/tiny%203b" });
  assert.deepEqual(placeOf(["/keys"], "/keys", "key", "key_1"), { path: "/keys", search: { key: "key_1" } });
});
