import assert from "node:assert/strict";
import { test } from "node:test";
import { figuresOf, rowsOf } from "./course.ts";

const load = (rate_per_s: number | null, more: object = {}) => ({
  requests: 3,
  failed: 0,
  error_share: null,
  rate_per_s,
  ttft_p95_ms: null,
  nodes: null,
  slots: null,
  busy_share: null,
  ...more,
});
const at = (seconds: number, of: ReturnType<typeof load>) => ({ at: seconds, ...of });

test("a quiet platform's requests are counted by the minute, a busy one's by the second", () => {
  const total = { ...load(0.05), charge_micro: "0.000000" };
  const [quiet] = figuresOf({ total, series: [at(0, load(0.5))] });
  assert.equal(quiet?.text(quiet.of(total) ?? 0), "3/min");
  const [busy] = figuresOf({ total, series: [at(0, load(12.5))] });
  assert.equal(busy?.text(busy.of(load(12.5)) ?? 0), "12.5/s");
});

test("what was not measured is a gap, what was zero is not", () => {
  const series = [at(1_790_000_100, load(0, { busy_share: 0 })), at(1_790_000_400, load(null))];
  const figures = figuresOf({ total: { ...load(0), charge_micro: "0.000000" }, series });
  const values = figures.map((figure) => rowsOf({ series, slot_s: 300 }, figure).map((row) => row.values));
  assert.deepEqual(values, [
    [{ Requests: 0 }, {}],
    [{}, {}],
    [{}, {}],
    [{ "Slots in use": 0 }, {}],
  ]);
});
