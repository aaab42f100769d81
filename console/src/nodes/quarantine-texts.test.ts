import assert from "node:assert/strict";
import { test } from "node:test";
import { explainQuarantine, listEvidence } from "./quarantine-texts.ts";

const quarantine = (reason: string, evidence: Record<string, unknown> = {}) => ({ reason, evidence, at: 1 });

test("explains the platform's reasons with a remedy, and quotes an operator's reason", () => {
  for (const reason of ["failures", "refused_prompts", "speed", "canary", "spot_check"]) {
    const { title, remedy, byOperator } = explainQuarantine(quarantine(reason));
    assert.equal(byOperator, false);
    assert.notEqual(title, reason);
    assert.ok(remedy.length > 0);
  }
  assert.match(explainQuarantine(quarantine("odd answers")).title, /operator.*odd answers/);
});

test("shows all evidence, including unknown kinds", () => {
  assert.deepEqual(listEvidence(quarantine("failures", { jobs: 9, failures: 5, kinds: { engine: 4, silent: 1 } })), [
    ["Jobs counted", "9"],
    ["Failures", "5"],
    ["Failures by type", "engine failed: 4, stalled: 1"],
  ]);
  const scores = [{ at: "2026-11-18T09:12:30.000Z", score: -6.204, method: "text" }];
  assert.deepEqual(listEvidence(quarantine("spot_check", { model: "tiny-3b", scores, bad_scores: 4 })), [
    ["Model", "tiny-3b"],
    ["Scores", "-6.20 (2026-11-18 09:12)"],
    ["Bad scores", "4"],
  ]);
  assert.deepEqual(listEvidence(quarantine("x", { more: { a: 1 } })), [["more", '{"a":1}']]);
});
