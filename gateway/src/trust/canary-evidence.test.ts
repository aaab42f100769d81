import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { seededRandom } from "../base/testing.ts";
import { EASIEST_CANARY_PASS_RATE } from "./canary.ts";
import { CanaryEvidence, computeEvidenceWeight, PassRates } from "./canary-evidence.ts";
import { randomChoices } from "./questions/random-choices.ts";

describe("evidence from canary answers", () => {
  const asksUntilEnough = (passes: () => boolean, rate: number, most: number): number | undefined => {
    const evidence = new CanaryEvidence();
    for (let asked = 1; asked <= most; asked++) {
      evidence.note(passes(), rate);
      if (evidence.isEnough) return asked;
    }
    return undefined;
  };

  test("suffices to quarantine a node after two wrong answers to an easy canary, or eight to one that 15 % of honest nodes fail", () => {
    const never = (): boolean => false;
    const table = [EASIEST_CANARY_PASS_RATE, 0.98, 0.95, 0.9, 0.85, 0.75].map((rate) =>
      asksUntilEnough(never, rate, 99),
    );
    assert.deepEqual(table, [2, 4, 5, 7, 8, 12]);
    const once = new CanaryEvidence();
    once.note(false, EASIEST_CANARY_PASS_RATE);
    assert.equal(once.isEnough, false);
  });

  test("decreases with right answers, and never below zero", () => {
    const evidence = new CanaryEvidence();
    for (let i = 0; i < 50; i++) evidence.note(true, 0.9);
    assert.deepEqual([evidence.sum, evidence.asked], [0, 0]);
    evidence.note(false, 0.9);
    assert.equal(evidence.failures, 1);
    evidence.note(true, 0.9);
    evidence.note(true, 0.9);
    assert.deepEqual([evidence.sum, evidence.failures], [0, 0]);
  });

  test("accuses an honest node at most once in 10,000 days of 60 answers each", () => {
    const d = randomChoices(seededRandom(11));
    const days = 70_000;
    for (const rate of [0.75, 0.9, 0.98]) {
      const evidence = new CanaryEvidence();
      let alarms = 0;
      for (let asked = 0; asked < days * 60; asked++) {
        evidence.note(d.between(1, 10_000) <= rate * 10_000, rate);
        if (!evidence.isEnough) continue;
        evidence.clear();
        alarms++;
      }
      assert.ok(alarms <= days / 10_000, `${alarms} in ${days} days at ${rate}`);
    }
  });

  test("suffices to quarantine a node whose answers are 20 % right: within 15 answers in half of the runs, within 60 in 99 %", () => {
    const d = randomChoices(seededRandom(12));
    const asks = Array.from({ length: 500 }, () => asksUntilEnough(() => d.percent(20), 0.88, 1000) ?? 1000).sort(
      (a, b) => a - b,
    );
    assert.ok((asks[250] as number) <= 15, `half within ${asks[250]}`);
    assert.ok((asks[495] as number) <= 60, `99 in 100 within ${asks[495]}`);
  });

  test("compares a node with the pass rates of other hosts' nodes, and limits the weight of each host", () => {
    const rates = new PassRates();
    const of = (host: string): number => rates.of("m story", { host, prior: 0.9 });
    assert.equal(of("a"), 0.9);
    for (let i = 0; i < 10_000; i++) rates.note("m story", { host: "a", passed: false });
    assert.equal(of("a"), 0.9, "a host is not held to its own");
    assert.ok(of("b") < 0.6 && of("b") >= 0.35, `${of("b")}`);
    for (const host of ["c", "d", "e", "f", "g"])
      for (let i = 0; i < 60; i++) rates.note("m story", { host, passed: true });
    assert.ok(of("b") > 0.8, `${of("b")}`);
    assert.equal(rates.of("m note", { host: "a", prior: 0.8 }), 0.8, "another family is another matter");
    assert.ok(computeEvidenceWeight(false, of("b")) > 0);
  });
});
