import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { ShortLivedMap, ShortLivedSet } from "./short-lived-collections.ts";

const run = promisify(execFile);

test("a short-lived map returns its entries in insertion order, without removed ones", () => {
  const map = new ShortLivedMap<string, number>();
  map.add("one", 1);
  map.add("two", 2);
  map.add("three", 3);
  assert.equal(map.get("two"), 2);
  map.delete("two");
  map.delete("two");
  assert.equal(map.get("two"), undefined);
  assert.deepEqual(map.all(), [1, 3]);
});

test("a short-lived collection keeps the order of insertion, allows equal items, and returns no removed item", () => {
  const set = new ShortLivedSet<string>();
  set.add("one");
  const seat = set.add("two");
  set.add("two");
  assert.deepEqual(set.all(), ["one", "two", "two"]);
  set.delete(seat);
  set.delete(seat);
  assert.equal(set.size, 2);
  assert.deepEqual(set.all(), ["one", "two"]);
});

test("a short-lived map and set release removed items before the next full collection, unlike JavaScript's own", async () => {
  const [map, set, ownMap, ownSet] = await Promise.all(["map", "set", "own map", "own set"].map(promotedMb));
  const told = JSON.stringify({ map, set, ownMap, ownSet });
  // If this fails, JavaScript's own maps release items early too, and short-lived-collections.ts is not needed any
  // more.
  assert.ok(Math.min(ownMap as number, ownSet as number) > PASSED_MB / 4, told);
  assert.ok(Math.max(map as number, set as number) < PASSED_MB / 8, told);
});

/** The total number of entries. Only 64 of them exist at a time. */
const THINGS = 20_000;
const PASSED_MB = 40;

/** Measures in a separate process how many megabytes were moved to V8's old generation. */
async function promotedMb(kind: string): Promise<number> {
  const given = { kind, things: THINGS, numbers: (PASSED_MB * 1e6) / THINGS / 8 };
  const script = `const given = ${JSON.stringify(given)};\n${PASS_THROUGH}`;
  const flags = ["--expose-gc", "--no-warnings", "--input-type=module", "--eval", script];
  return Number((await run(process.execPath, flags)).stdout);
}

const PASS_THROUGH = `
import v8 from "node:v8";
import { ShortLivedMap, ShortLivedSet } from "${import.meta.resolve("./short-lived-collections.ts")}";

const oldBytes = () => v8.getHeapSpaceStatistics().find(({ space_name }) => space_name === "old_space").space_used_size;
const [map, set, ownMap, ownSet] = [new ShortLivedMap(), new ShortLivedSet(), new Map(), new Set()];
const enter = {
  map: (thing) => map.add(thing.key, thing),
  set: (thing) => { thing.seat = set.add(thing); },
  "own map": (thing) => ownMap.set(thing.key, thing),
  "own set": (thing) => ownSet.add(thing),
}[given.kind];
const leave = {
  map: ({ key }) => map.delete(key),
  set: ({ seat }) => set.delete(seat),
  "own map": ({ key }) => ownMap.delete(key),
  "own set": (thing) => ownSet.delete(thing),
}[given.kind];
const here = [];
let [grown, last] = [0, oldBytes()];
for (let i = 0; i < given.things; i++) {
  const thing = { key: "thing-" + i, seat: undefined, numbers: new Array(given.numbers).fill(i) };
  enter(thing);
  here.push(thing);
  if (here.length > 64) leave(here.shift());
  // Two collections move the current table to the old generation; afterwards every entry leaves while it is young.
  if (i === 70 || i === 71 || i % 500 === 0) gc({ type: "minor" });
  const now = oldBytes();
  if (now > last) grown += now - last;
  last = now;
}
console.log(grown / 1e6);
`;
