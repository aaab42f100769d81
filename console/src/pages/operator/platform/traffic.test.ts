import assert from "node:assert/strict";
import { test } from "node:test";
import type { TrafficHour } from "../../../api/types.ts";
import { spanOf } from "../../../time-range.ts";
import { groupOf, requestBars, tokenBars } from "./traffic.ts";

const now = Date.parse("2026-11-15T12:34:00Z");
const at = (text: string): number => Date.parse(text) / 1000;
const hour = (when: string, outcome: TrafficHour["outcome"], requests: number): TrafficHour => ({
  hour: at(when),
  outcome,
  requests,
  prompt_tokens: 0,
  completion_tokens: 0,
  charge_micro: "0.000000",
});

test("requests are counted by how they ended, in the day they belong to", () => {
  const traffic = [
    hour("2026-11-14T23:00:00Z", "ok", 3),
    hour("2026-11-15T00:00:00Z", "ok", 2),
    hour("2026-11-15T11:00:00Z", "client_closed", 1),
    hour("2026-11-15T11:00:00Z", "upstream_stall", 4),
  ];
  const { series, rows } = requestBars(traffic, spanOf("7d", now), (bucket) => new Date(bucket).toISOString());
  assert.deepEqual(
    series.map(({ name }) => name),
    ["Completed", "Failed on a node"],
  );
  assert.deepEqual(rows.at(-1)?.values, { Completed: 3, "Failed on a node": 4 });
  assert.deepEqual(rows.at(-2)?.values, { Completed: 3, "Failed on a node": 0 });
});

test("tokens are added up over outcomes, prompt and output apart, in the hour they belong to", () => {
  const tokens = (when: string, prompt_tokens: number, completion_tokens: number): TrafficHour => ({
    ...hour(when, "ok", 1),
    prompt_tokens,
    completion_tokens,
  });
  const traffic = [
    tokens("2026-11-15T12:00:00Z", 10, 1),
    { ...tokens("2026-11-15T12:00:00Z", 20, 2), outcome: "upstream_failed" as const },
    tokens("2026-11-15T11:00:00Z", 5, 50),
    tokens("2026-11-13T11:00:00Z", 1000, 1000),
  ];
  const { series, rows } = tokenBars(traffic, spanOf("24h", now), (bucket) => new Date(bucket).toISOString());
  assert.deepEqual(
    series.map(({ name }) => name),
    ["Prompt", "Output"],
  );
  assert.deepEqual(
    rows.slice(-2).map(({ values }) => values),
    [
      { Prompt: 5, Output: 50 },
      { Prompt: 30, Output: 3 },
    ],
  );
  assert.deepEqual(rows[0]?.values, { Prompt: 0, Output: 0 });
});

test("every outcome has its group", () => {
  assert.deepEqual(["ok", "upstream_failed", "no_capacity", "rate_limit_tokens"].map(groupOf), [
    "Completed",
    "Failed on a node",
    "No capacity",
    "Rate-limited",
  ]);
});
