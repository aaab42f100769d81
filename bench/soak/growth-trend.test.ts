import assert from "node:assert/strict";
import { test } from "node:test";
import { SeededRandom } from "@tollgate/stage/seeded-random.ts";
import { classifyTrend, fitLine } from "./growth-trend.ts";

const TWO_HOURS_S = 7_200;

/** Returns a sample every ten seconds: 100 with noise of ±5, plus this growth per hour. */
function series(perHour: number): { at: number; value: number }[] {
  const chance = new SeededRandom("slope");
  return Array.from({ length: TWO_HOURS_S / 10 }, (_, i) => ({
    at: i * 10,
    value: 100 + 10 * (chance.next() - 0.5) + (perHour * i * 10) / 3600,
  }));
}

test("a series of noise without growth is flat", () => assert.equal(classifyTrend(fitLine(series(0), "mean")), "flat"));

test("a series that grows by a third of its noise per hour is reported as growing, with the right slope", () => {
  const line = fitLine(series(3), "mean");
  assert.equal(classifyTrend(line), "grows");
  assert.ok(Math.abs(line.slope - 3) < 3 * line.error, `${line.slope} ± ${line.error}`);
});

test("a series that grows by less than the given noise is reported as flat", () =>
  assert.equal(classifyTrend(fitLine(series(3), "mean"), 4), "flat"));

test("a series that falls is reported as falling", () =>
  assert.equal(classifyTrend(fitLine(series(-20), "median")), "falls"));

test("a series of ten minutes is reported as too short", () =>
  assert.equal(classifyTrend(fitLine(series(20).slice(0, 60), "mean")), "too short"));
