import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ApiKey } from "../../api/answer-types.ts";
import { computeBudgetUsedPercent } from "../../keys/budget-used-percent.ts";
import { fillKeyForm, findChangedSettings, NEW_KEY_FORM } from "./key-form.ts";

const KEY = {
  name: "production",
  budget_day_micro: "1500000.500000",
  budget_month_micro: null,
  expires_at: new Date("2026-12-01T09:30:17").getTime() / 1000,
  models: ["a", "b"],
  spot_checks: true,
  labels: false,
  reasoning_content: false,
  limits_set: { requests_per_minute: 60, tokens_per_minute: null, in_flight: null },
} as ApiKey;

describe("the form of a key", () => {
  test("starts with the key's settings, and sends nothing if no field changes", () => {
    const form = fillKeyForm(KEY);
    assert.deepEqual(form, {
      name: "production",
      budget_day_micro: "1.5000005",
      budget_month_micro: "",
      expires_at: "2026-12-01T09:30",
      models: ["a", "b"],
      spot_checks: true,
      labels: false,
      reasoning_content: false,
      requests_per_minute: "60",
      tokens_per_minute: "",
      in_flight: "",
    });
    assert.deepEqual(findChangedSettings(form, form), { change: {} });
  });

  test("sends only changed fields, and removes the settings of emptied fields", () => {
    const before = fillKeyForm(KEY);
    const form = { ...before, budget_month_micro: "$1,200.25", models: null, requests_per_minute: "", in_flight: "4" };
    assert.deepEqual(findChangedSettings(form, before), {
      change: { budget_month_micro: "1200250000", models: null, limits: { requests_per_minute: null, in_flight: 4 } },
    });
    assert.deepEqual(findChangedSettings({ ...before, budget_day_micro: "", expires_at: "" }, before), {
      change: { budget_day_micro: null, expires_at: null },
    });
    assert.deepEqual(findChangedSettings({ ...before, labels: true, reasoning_content: true }, before), {
      change: { labels: true, reasoning_content: true },
    });
    const moved = { ...before, expires_at: "2026-12-02T10:00" };
    assert.deepEqual(findChangedSettings(moved, before), {
      change: { expires_at: new Date("2026-12-02T10:00").getTime() / 1000 },
    });
    assert.deepEqual(findChangedSettings({ ...NEW_KEY_FORM, name: "new" }, NEW_KEY_FORM), { change: { name: "new" } });
  });

  test("names the invalid field", () => {
    const problemOf = (part: Partial<typeof NEW_KEY_FORM>) => {
      const read = findChangedSettings({ ...NEW_KEY_FORM, ...part }, NEW_KEY_FORM);
      return "problem" in read ? read.problem.param : undefined;
    };
    assert.equal(problemOf({ budget_day_micro: "ten" }), "budget_day_micro");
    assert.equal(problemOf({ budget_month_micro: "-1" }), "budget_month_micro");
    assert.equal(problemOf({ models: [] }), "models");
    assert.equal(problemOf({ in_flight: "1.5" }), "limits.in_flight");
  });
});

test("never rounds the used share of a budget up to 100 %", () => {
  assert.equal(computeBudgetUsedPercent(0n, 3n), 0);
  assert.equal(computeBudgetUsedPercent(999n, 1000n), 99);
  assert.equal(computeBudgetUsedPercent(1000n, 1000n), 100);
  assert.equal(computeBudgetUsedPercent(5n, 3n), 100);
  assert.equal(computeBudgetUsedPercent(0n, 0n), 100);
});
