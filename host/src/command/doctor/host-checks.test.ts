import assert from "node:assert/strict";
import { test } from "node:test";
import { clockCheck, computeClockSkewMs } from "./host-checks.ts";

const SERVER = Date.parse("Sun, 15 Nov 2026 06:50:22 GMT");

test("the clock check ignores differences below the one-second precision of an HTTP date", () => {
  const cases: [nowMs: number, elapsedMs: number, skewMs: number][] = [
    [SERVER, 10, 0],
    [SERVER + 999, 10, 0],
    [SERVER + 1500, 600, 0],
    [SERVER + 61_000, 0, 60_000],
    [SERVER + 61_000, 1000, 59_000],
    [SERVER - 3000, 500, -3000],
  ];
  for (const [nowMs, elapsedMs, skewMs] of cases)
    assert.equal(computeClockSkewMs({ elapsedMs, serverTimeMs: SERVER }, nowMs), skewMs);
  assert.equal(computeClockSkewMs({ elapsedMs: 1, serverTimeMs: undefined }, SERVER), undefined);
});

test("the clock check accepts a difference of seconds, warns about minutes and fails above ten minutes", () => {
  const at = (offMs: number) => clockCheck({ elapsedMs: 0, serverTimeMs: SERVER }, SERVER + offMs);
  assert.equal(at(4000).verdict, "ok");
  assert.deepEqual([at(121_000).verdict, at(121_000).detail], ["warn", "120 s ahead of the gateway's"]);
  assert.deepEqual([at(-3_600_000).verdict, at(-3_600_000).detail], ["fail", "3600 s behind the gateway's"]);
  assert.equal(clockCheck({ elapsedMs: 0, serverTimeMs: undefined }, SERVER).verdict, "warn");
});
