import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  addCheck,
  computeEvidenceFactors,
  computeEvidenceStrength,
  hasFailed,
  INITIAL_TEST_STATE,
} from "./sequential-test.ts";
import { createSeededRandom } from "./testing.ts";
import { decideCheckVerdict, decideNextStep, shuffleWords, type VerifierOpinion } from "./verdict.ts";

const opinion = (p: number, reference = false): VerifierOpinion => ({
  factors: computeEvidenceFactors([p, 1, p, p]),
  reference,
});
const FINE = opinion(0.6);
const BAD = opinion(0.001);
const UNKNOWN: VerifierOpinion = { factors: undefined, reference: false };

describe("the verdict of one spot check", () => {
  const steps: [string, Parameters<typeof decideNextStep>[0], ReturnType<typeof decideNextStep>][] = [
    ["nothing unusual", { first: FINE }, "decide"],
    ["too little known", { first: UNKNOWN }, "decide"],
    ["one verifier doubts", { first: opinion(0.05) }, "third"],
    ["one verifier finds it bad", { first: BAD }, "third"],
    ["a third agrees", { first: BAD, third: BAD }, "control"],
    ["a third disagrees", { first: BAD, third: FINE }, "decide"],
    ["there is no third", { first: BAD, third: null }, "decide"],
    ["a reference node finds it bad", { first: opinion(0.001, true) }, "control"],
    ["all is known", { first: BAD, third: BAD, control: FINE }, "decide"],
  ];
  for (const [name, opinions, step] of steps) {
    test(`takes the step "${step}" if ${name}`, () => assert.equal(decideNextStep(opinions), step));
  }

  const verdicts: [
    string,
    Parameters<typeof decideCheckVerdict>[0],
    ReturnType<typeof decideCheckVerdict>["verdict"],
  ][] = [
    ["nothing unusual", { first: FINE }, "ok"],
    ["too little known", { first: UNKNOWN }, "unjudged"],
    ["two agree, the control is fine", { first: BAD, third: BAD, control: FINE }, "bad"],
    ["two agree, the control could not be had", { first: BAD, third: BAD, control: null }, "bad"],
    ["two agree, the control is no better", { first: BAD, third: BAD, control: BAD }, "odd"],
    ["the third has no doubt", { first: BAD, third: FINE }, "disputed"],
    ["there is no third", { first: BAD, third: null }, "unconfirmed"],
    ["the third knows too little", { first: BAD, third: UNKNOWN }, "unconfirmed"],
    ["a reference node overrules", { first: BAD, third: opinion(0.6, true) }, "disputed"],
    ["a reference node is enough", { first: opinion(0.001, true), control: FINE }, "bad"],
  ];
  for (const [name, opinions, verdict] of verdicts) {
    test(`is "${verdict}" if ${name}`, () => assert.equal(decideCheckVerdict(opinions).verdict, verdict));
  }

  test("marks a verifier that disagrees with the two other opinions", () => {
    assert.equal(decideCheckVerdict({ first: BAD, third: FINE }).verifierErred, true);
    assert.equal(decideCheckVerdict({ first: BAD, third: BAD, control: FINE }).verifierErred, false);
    assert.equal(decideCheckVerdict({ first: opinion(0.06), third: FINE }).verifierErred, false);
  });

  test("counts the milder of two bad scores", () => {
    const { factors } = decideCheckVerdict({ first: opinion(0.0001), third: BAD, control: FINE });
    assert.deepEqual(factors, BAD.factors);
  });

  test("protects an honest node if one in three verifiers lies", () => {
    const u = createSeededRandom(5);
    let state = INITIAL_TEST_STATE;
    for (let i = 0; i < 20_000; i++) {
      const honest = opinion(1 - u());
      const lies = u() < 1 / 3;
      const first = lies ? BAD : honest;
      const { factors, verdict } = decideCheckVerdict({ first, third: honest, control: FINE });
      state = addCheck(state, { at: i * 600_000, factors, confirmedBad: verdict === "bad" });
      assert.equal(hasFailed(state, 1e-4), false, `after ${i} checks`);
    }
    assert.ok(computeEvidenceStrength(state) < 1000);
  });

  test("is tested with traps: shuffleWords() makes one by putting the words of an answer in another order", () => {
    const text = "the quick brown fox jumps over the lazy dog and runs far away from here";
    const trap = shuffleWords(text, createSeededRandom(6));
    assert.notEqual(trap, text);
    assert.deepEqual(trap.split(" ").sort(), text.split(" ").sort());
  });
});
