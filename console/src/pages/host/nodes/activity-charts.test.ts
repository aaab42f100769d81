import assert from "node:assert/strict";
import { test } from "node:test";
import type { ActivityPoint, NodeActivity } from "../../../api/answer-types.ts";
import { formatMeasuredShare, formatPercentTick, toEarningRows, toLineRows } from "./activity-charts.ts";

const point = (at: number, ttft_p50_ms: number | null): ActivityPoint => ({
  ...{ at, requests: 0, ok: 0, closed: 0, failed: 0, failed_share: null, prompt_tokens: 0, completion_tokens: 0 },
  ...{ ttft_p50_ms, ttft_p95_ms: null, tps: null, utilisation: null, connected: null },
});
const insight = {
  slot_s: 86_400,
  series: [point(1_794_700_800, 5), point(1_794_787_200, null)],
  earnings_slot_s: 86_400,
  earnings: [{ at: 1_794_700_800, earned_micro: "3877.615000" }],
} as NodeActivity;

test("shows gaps for days without measurements, and labels days in UTC", () => {
  const rows = toLineRows(insight, [{ name: "p50", colour: 1, of: ({ ttft_p50_ms }) => ttft_p50_ms }]);
  assert.deepEqual(
    rows.map(({ label, values }) => [label, values]),
    [
      ["Nov 15 UTC", { p50: 5 }],
      ["Nov 16 UTC", {}],
    ],
  );
});

test("shows earnings without rounding", () => {
  const [row] = toEarningRows(insight);
  assert.deepEqual([row?.values, row?.texts], [{ Earned: 0.003877615 }, { Earned: "$0.003877615" }]);
});

test("shows more digits for small percentages, and never 0 % for a share above zero", () => {
  assert.deepEqual([null, 0, 0.0002, 0.0067, 0.42, 1].map(formatMeasuredShare), [
    "–",
    "0 %",
    "< 0.1 %",
    "0.7 %",
    "42 %",
    "100 %",
  ]);
  assert.deepEqual([formatPercentTick(0.001, 0.0005), formatPercentTick(0.5, 0.25)], ["0.10 %", "50 %"]);
});
