import assert from "node:assert/strict";
import { test } from "node:test";
import { deleteView, readColumns, readViews, saveView, writeColumns } from "./saved-views.ts";

function memory() {
  const kept = new Map<string, string>();
  return {
    getItem: (key: string): string | null => kept.get(key) ?? null,
    setItem: (key: string, value: string): void => void kept.set(key, value),
  };
}

test("saves views per person, and replaces a view with the same name", () => {
  const store = memory();
  const at = () => store;
  saveView(at, "ann", { name: "slow", view: { q: "ttft>500", sort: "duration" } });
  saveView(at, "ann", { name: "failed", view: { q: "-outcome:ok" } });
  saveView(at, "ann", { name: "slow", view: { q: "ttft>900" } });
  assert.deepEqual(readViews(at, "ann"), [
    { name: "failed", view: { q: "-outcome:ok" } },
    { name: "slow", view: { q: "ttft>900" } },
  ]);
  assert.deepEqual(readViews(at, "bob"), []);
  assert.deepEqual(
    deleteView(at, "ann", "slow").map(({ name }) => name),
    ["failed"],
  );
});

test("limits the number of views and refuses invalid ones", () => {
  const store = memory();
  for (let i = 0; i < 30; i++) saveView(() => store, "ann", { name: `view ${i}`, view: {} });
  assert.throws(() => saveView(() => store, "ann", { name: "one more", view: {} }), /already have 30 views/);
  assert.equal(readViews(() => store, "ann").length, 30);
});

test("ignores invalid stored views and columns, and reports blocked storage on saving", () => {
  const store = memory();
  store.setItem(
    "tollgate.request-views.ann",
    '[null, {"name": 3}, {"name": "a", "view": {"q": "x", "sort": "evil", "request": "req_1"}}]',
  );
  assert.deepEqual(
    readViews(() => store, "ann"),
    [{ name: "a", view: { q: "x" } }],
  );
  store.setItem("tollgate.request-views.ann", "not JSON");
  assert.deepEqual(
    readViews(() => store, "ann"),
    [],
  );
  writeColumns(() => store, "ann", ["Model", "Gone"]);
  assert.deepEqual(
    readColumns(() => store, "ann", ["Model", "Key"]),
    ["Model"],
  );
  writeColumns(() => store, "ann", undefined);
  assert.equal(
    readColumns(() => store, "ann", ["Model"]),
    undefined,
  );
  const blocked = () => {
    throw new Error("denied");
  };
  assert.deepEqual(readViews(blocked, "ann"), []);
  assert.throws(() => saveView(blocked, "ann", { name: "a", view: {} }), /full or blocked/);
});
