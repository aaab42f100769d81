import assert from "node:assert/strict";
import { test } from "node:test";
import { Chance } from "@tollgate/stage/chance.ts";
import { lineOf, trendOf } from "./slope.ts";

const TWO_HOURS_S = 7_200;

/** A sample every ten seconds: 100 with noise of ±5, and so much more in an hour. */
function series(perHour: number): { at: number; value: number }[] {
  const chance = new Chance("slope");
  return Array.from({ length: TWO_HOURS_S / 10 }, (_, i) => ({
    at: i * 10,
    value: 100 + 10 * (chance.next() - 0.5) + (perHour * i * 10) / 3600,
  }));
}

test("a series with noise alone is flat", () => assert.equal(trendOf(lineOf(series(0), "mean")), "flat"));

test("a growth of a tenth of the noise an hour is seen, with its slope", () => {
  const line = lineOf(series(3), "mean");
  assert.equal(trendOf(line), "grows");
  assert.ok(Math.abs(line.slope - 3) < 3 * line.error, `${line.slope} ± ${line.error}`);
});

test("a growth below the noise that is given is none", () =>
  assert.equal(trendOf(lineOf(series(3), "mean"), 4), "flat"));

test("a series that falls is distinguished from one that grows", () =>
  assert.equal(trendOf(lineOf(series(-20), "median")), "falls"));

test("a few minutes are too short for a verdict", () =>
  assert.equal(trendOf(lineOf(series(20).slice(0, 60), "mean")), "too short"));
