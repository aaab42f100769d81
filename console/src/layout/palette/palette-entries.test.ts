import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { chooseDestination, findMatchingEntries, findRequestEntries, type PaletteEntry } from "./palette-entries.ts";
import { PAGE_SYNONYMS } from "./synonyms.ts";

const entry = (group: string, label: string, hint?: string): PaletteEntry => ({
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
const found = (typed: string): string[] => findMatchingEntries(ALL, typed).map(({ label }) => label);

test("finds entries that contain all typed words in any order and case, and lists matches at the start first", () => {
  assert.deepEqual(
    found(""),
    ALL.map(({ label }) => label),
  );
  assert.deepEqual(found("key"), ["key of the shop", "API keys"]);
  assert.deepEqual(found("SHOP key"), ["key of the shop"]);
  assert.deepEqual(found("account"), ["Accounts", "Shop"]);
  assert.deepEqual(found("nothing like it"), []);
});

test("finds pages by the beginning of a synonym, and lists them after pages whose name matches", () => {
  const all = [{ ...entry("Build", "Credits"), also: "billing invoices" }, entry("Build", "Billing help"), ...ALL];
  const labels = (typed: string): string[] => findMatchingEntries(all, typed).map(({ label }) => label);
  assert.deepEqual(labels("bill"), ["Billing help", "Credits"]);
  assert.deepEqual(labels("build invoice"), ["Credits"]);
  assert.deepEqual(labels("voices"), []);
});

test("has synonyms for every page of the navigation, and a page for every synonym", () => {
  // Reads navigation.ts as text, because the module imports icons that Node cannot load.
  const navigation = readFileSync(new URL("../navigation.ts", import.meta.url), "utf8");
  const pages = [...navigation.matchAll(/\bto: "([^"]+)"/g)].map(([, path]) => path);
  const own = ["/accounts", "/notifications", "/settings"];
  assert.ok(pages.length > 10);
  assert.deepEqual(Object.keys(PAGE_SYNONYMS).sort(), [...pages, ...own].sort());
  for (const words of Object.values(PAGE_SYNONYMS)) assert.equal(words, words.toLowerCase());
});

test("lists entries whose heading begins with the query before entries that only contain it", () => {
  const all = [
    entry("You", "Your accounts", "switch or create"),
    entry("Switch account", "Shop", "builder account"),
    entry("Switch account", "Farm", "host account"),
  ];
  assert.deepEqual(
    findMatchingEntries(all, "switch acc").map(({ label }) => label),
    ["Shop", "Farm", "Your accounts"],
  );
});

test("groups entries with the same heading", () => {
  const groups = findMatchingEntries([entry("a", "x"), entry("b", "xx"), entry("a", "yx")], "x").map(
    ({ group }) => group,
  );
  assert.deepEqual(groups, ["a", "a", "b"]);
});

test("offers to open a request only when a complete request ID is typed", () => {
  assert.deepEqual(
    findRequestEntries(" REQ_01m7fb0r62f9aajmpvfeyyxtaf ", { builds: true, operates: true }).map(({ to }) => to),
    ["/requests", "/operator/requests"].map((path) => ({
      path,
      search: { request: "req_01m7fb0r62f9aajmpvfeyyxtaf" },
    })),
  );
  for (const text of ["req_", "req_1/../x", "01m7fb0r62f9aajmpvfeyyxtaf", "request"])
    assert.deepEqual(findRequestEntries(text, { builds: true, operates: true }), []);
});

test("opens an object's own page if it has one, otherwise the list with the object selected", () => {
  assert.deepEqual(chooseDestination(["/models", "/models/$id"], "/models", "model", "tiny 3b"), {
    path: "/models/tiny%203b",
  });
  assert.deepEqual(chooseDestination(["/keys"], "/keys", "key", "key_1"), { path: "/keys", search: { key: "key_1" } });
});
