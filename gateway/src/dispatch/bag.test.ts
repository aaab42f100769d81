import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Random } from "../base/random.ts";
import { Bag, type Seat } from "./bag.ts";

/** Draws by turns, so that every outcome is met. */
const byTurns = (): Random => {
  let turn = 0;
  return { fill: () => {}, below: (bound) => turn++ % bound };
};
const any = (): boolean => true;

describe("RandomSet", () => {
  test("contains the items that were added and not deleted", () => {
    const bag = new Bag<number>();
    const seats = Array.from({ length: 10 }, (_, i) => bag.add(i));
    for (const gone of [0, 9, 5]) bag.delete(seats[gone] as Seat<number>);
    assert.deepEqual(bag.all().sort(), [1, 2, 3, 4, 6, 7, 8]);
    assert.equal(bag.size, 7);
    assert.ok(bag.some((each) => each === 8) && !bag.some((each) => each === 9));
  });

  test("draws no item twice, only items that match, and keeps all items", () => {
    const bag = new Bag<number>();
    const seats = Array.from({ length: 8 }, (_, i) => bag.add(i));
    const random = byTurns();
    for (let i = 0; i < 100; i++) {
      const drawn = bag.draw(4, random, (each) => each % 2 === 0);
      assert.deepEqual([...drawn].sort(), [0, 2, 4, 6]);
      bag.delete(seats[i % 8] as Seat<number>);
      assert.deepEqual(
        bag.all().sort(),
        [0, 1, 2, 3, 4, 5, 6, 7].filter((each) => each !== i % 8),
      );
      seats[i % 8] = bag.add(i % 8);
    }
    assert.deepEqual(
      bag.draw(4, random, (each) => each > 6),
      [7],
    );
    assert.deepEqual(new Bag<number>().draw(4, random, any), []);
  });

  test("draws each item equally often", () => {
    const times = new Map<string, number>();
    for (let first = 0; first < 5; first++) {
      for (let second = 0; second < 4; second++) {
        const bag = new Bag<string>();
        for (const name of ["a", "b", "c", "d", "e"]) bag.add(name);
        const draws = [first, second];
        const random: Random = { fill: () => {}, below: () => draws.shift() as number };
        for (const name of bag.draw(2, random, any)) times.set(name, (times.get(name) ?? 0) + 1);
      }
    }
    assert.deepEqual([...times.values()], [8, 8, 8, 8, 8]);
  });
});
