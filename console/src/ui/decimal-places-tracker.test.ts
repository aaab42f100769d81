/** Tests the shared number of decimals of a page's amounts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createDecimalPlacesTracker } from "./decimal-places-tracker.ts";

test("grows to the largest number of decimals needed, and notifies listeners only when it grows", () => {
  const places = createDecimalPlacesTracker();
  const told: number[] = [];
  const stop = places.subscribe(() => told.push(places.most()));
  for (const needed of [2, 10, 4, 10, 2]) places.need(needed);
  assert.equal(places.most(), 10);
  assert.deepEqual(told, [2, 10]);
  stop();
  places.need(12);
  assert.deepEqual([places.most(), told.length], [12, 2]);
});
