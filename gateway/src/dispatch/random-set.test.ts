import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Random } from "../base/random.ts";
import { RandomSet, type RandomSetPosition } from "./random-set.ts";

/** A random source that returns all possible values in turn, so that every outcome occurs. */
const byTurns = (): Random => {
  let turn = 0;
  return { fill: () => {}, below: (bound) => turn++ % bound };
};
const any = (): boolean => true;

describe("RandomSet", () => {
  test("contains the items that were added and not removed", () => {
    const set = new RandomSet<number>();
    const positions = Array.from({ length: 10 }, (_, i) => set.add(i));
    for (const gone of [0, 9, 5]) set.delete(positions[gone] as RandomSetPosition<number>);
    assert.deepEqual(set.all().sort(), [1, 2, 3, 4, 6, 7, 8]);
    assert.equal(set.size, 7);
    assert.ok(set.some((each) => each === 8) && !set.some((each) => each === 9));
  });

  test("draws only matching items, draws none of them twice, and removes none from the set", () => {
    const set = new RandomSet<number>();
    const positions = Array.from({ length: 8 }, (_, i) => set.add(i));
    const random = byTurns();
    for (let i = 0; i < 100; i++) {
      const drawn = set.draw(4, random, (each) => each % 2 === 0);
      assert.deepEqual([...drawn].sort(), [0, 2, 4, 6]);
      set.delete(positions[i % 8] as RandomSetPosition<number>);
      assert.deepEqual(
        set.all().sort(),
        [0, 1, 2, 3, 4, 5, 6, 7].filter((each) => each !== i % 8),
      );
      positions[i % 8] = set.add(i % 8);
    }
    assert.deepEqual(
      set.draw(4, random, (each) => each > 6),
      [7],
    );
    assert.deepEqual(new RandomSet<number>().draw(4, random, any), []);
  });

  test("draws each item equally often", () => {
    const times = new Map<string, number>();
    for (let first = 0; first < 5; first++) {
      for (let second = 0; second < 4; second++) {
        const set = new RandomSet<string>();
        for (const name of ["a", "b", "c", "d", "e"]) set.add(name);
        const draws = [first, second];
        const random: Random = { fill: () => {}, below: () => draws.shift() as number };
        for (const name of set.draw(2, random, any)) times.set(name, (times.get(name) ?? 0) + 1);
      }
    }
    assert.deepEqual([...times.values()], [8, 8, 8, 8, 8]);
  });
});
