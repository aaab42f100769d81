import assert from "node:assert/strict";
import { test } from "node:test";
import { listChartFigures, toFigureRows } from "./platform-charts.ts";

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

test("shows requests per second on a busy platform, per minute or hour on a quiet one", () => {
  const told = (rate: number | null): string | undefined => {
    const total = { ...load(rate), charge_micro: "0.000000" };
    const [figure] = listChartFigures({ total });
    return figure?.text(figure.of(total) ?? 0);
  };
  assert.deepEqual(
    [told(12.5), told(0.05), told(0.001), told(0), told(null)],
    ["12.5/s", "3/min", "3.6/h", "0/h", "0/h"],
  );
});

test("shows a gap for a time without measurements, and zero for a measured zero", () => {
  const series = [at(1_790_000_100, load(0, { busy_share: 0 })), at(1_790_000_400, load(null))];
  const figures = listChartFigures({ total: { ...load(0), charge_micro: "0.000000" } });
  const values = figures.map((figure) => toFigureRows({ series, slot_s: 300 }, figure).map((row) => row.values));
  assert.deepEqual(values, [
    [{ "Request rate": 0 }, {}],
    [{}, {}],
    [{}, {}],
    [{ "Slots in use": 0 }, {}],
  ]);
});
