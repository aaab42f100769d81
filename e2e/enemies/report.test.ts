/** Tests the check of the limits that the platform must keep under each attack. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { findBrokenLimits, formatAttackTable, type StrategyRow } from "./report.ts";

const harmless: StrategyRow = {
  name: "an enemy",
  known: 1,
  does: "nothing",
  seconds: 60,
  honest_earned_pico: [1_000, 951],
  honest_sent: [100, 100],
  honest_errors: [0.01, 0.019],
  honest_saw: {},
  ttft_p50_ms: [50, 99],
  ttft_p50_real_ms: [50, 100],
  cpu_ms: [100, 200],
  rss_max_mib: [100, 110],
  enemy_earned_pico: 59,
  enemy_withheld_pico: 0,
  enemy_served: 1,
  enemy_took: { what: "prompts", amount: 5 },
  enemy_errors: [],
};
/**
 * The attack's row in the earlier report, measured over ten seconds: the attacker earned a hundred times as much per
 * second.
 */
const before: StrategyRow = {
  ...harmless,
  seconds: 10,
  enemy_earned_pico: 1_000,
  enemy_took: { what: "prompts", amount: 100 },
};

test("findBrokenLimits() reports nothing for an attack whose effects are within all limits", () =>
  assert.deepEqual(findBrokenLimits(harmless, before), []));

for (const [what, change, found] of [
  ["honest nodes' lost earnings", { honest_earned_pico: [1_000, 950] }, "honest nodes lost 5.0 % of their earnings"],
  ["honest builders' errors", { honest_errors: [0.01, 0.02] }, "honest builders saw 1.0 % more errors"],
  ["time to first token", { ttft_p50_ms: [50, 100] }, "the median time to first token grew 2.0-fold"],
  ["the attacker's earnings", { enemy_earned_pico: 60 }, "the enemy earned 1.0 % of what it did before"],
  [
    "the attacker's consumption",
    { enemy_took: { what: "prompts", amount: 6 } },
    "the enemy took (prompts) 1.0 % of what it did before",
  ],
] as const) {
  test(`findBrokenLimits() reports an attack whose effect on ${what} reaches the limit for it`, () => {
    assert.deepEqual(findBrokenLimits({ ...harmless, ...change } as StrategyRow, before), [found]);
  });
}

test("findBrokenLimits() compares the median time to first token in strict mode only", () => {
  assert.deepEqual(findBrokenLimits(harmless, before, { strict: true }), [
    "the median time to first token grew 2.0-fold",
  ]);
});

test("findBrokenLimits() ignores an attack's gains if the earlier report lacks the attack or shows no gains for it", () => {
  assert.deepEqual(findBrokenLimits(harmless, { ...before, enemy_earned_pico: 0, enemy_took: null }), []);
  assert.deepEqual(findBrokenLimits(harmless, undefined), []);
});

test("formatAttackTable() writes a row for each attack", () => {
  assert.match(
    formatAttackTable({ commit: "abc", rows: [harmless] }),
    /\| 1 \| an enemy \| −5 % \| 1 % → 2 % \| 50 → 99 \| 50 → 100 \| × 2.0 \| 10 \| 1 %, 6 % \| 5 prompts \|/,
  );
});
