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
import {
  decideCheckVerdict,
  decideNextStep,
  findErringVerifier,
  shuffleWords,
  type VerifierOpinion,
} from "./verdict.ts";

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
    ["one verifier has no doubt about a suspected node", { first: FINE, suspected: true }, "third"],
    ["a third has no doubt about a suspected node either", { first: FINE, third: FINE, suspected: true }, "decide"],
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
    ["only the third finds a suspected node's answer bad", { first: FINE, third: BAD, suspected: true }, "disputed"],
    ["there is no third", { first: BAD, third: null }, "unconfirmed"],
    ["the third knows too little", { first: BAD, third: UNKNOWN }, "unconfirmed"],
    ["a reference node overrules", { first: BAD, third: opinion(0.6, true) }, "disputed"],
    ["a reference node is enough", { first: opinion(0.001, true), control: FINE }, "bad"],
  ];
  for (const [name, opinions, verdict] of verdicts) {
    test(`is "${verdict}" if ${name}`, () => assert.equal(decideCheckVerdict(opinions).verdict, verdict));
  }

  const errors: [
    string,
    VerifierOpinion,
    VerifierOpinion,
    VerifierOpinion | undefined,
    "first" | "third" | undefined,
  ][] = [
    ["a fourth node agrees with the third", BAD, FINE, FINE, "first"],
    ["a fourth node agrees with the first", BAD, FINE, BAD, "third"],
    ["only the third finds it bad, and a fourth node too", FINE, BAD, BAD, "first"],
    ["only the third finds it bad, and a fourth node does not", FINE, BAD, FINE, "third"],
    ["there is no fourth node, and only the first finds it bad", BAD, FINE, undefined, "first"],
    ["there is no fourth node, and only the third finds it bad", FINE, BAD, undefined, undefined],
    ["a reference node contradicts the first", BAD, opinion(0.6, true), undefined, "first"],
    ["a reference node contradicts the third", opinion(0.6, true), BAD, BAD, "third"],
    ["both find it bad", BAD, BAD, undefined, undefined],
    ["the third only doubts it", FINE, opinion(0.06), undefined, undefined],
  ];
  for (const [name, first, third, fourth, erred] of errors) {
    test(`counts an error of the ${erred ?? "verifiers: none"} if ${name}`, () =>
      assert.equal(findErringVerifier({ first, third }, fourth), erred));
  }

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

  test("puts at least half of an answer's words in another order, to make a trap that tests the verifiers", () => {
    const words = Array.from({ length: 40 }, (_, i) => `word${i}`);
    const u = createSeededRandom(6);
    const kept = { first: 0, last: 0 };
    for (let i = 0; i < 200; i++) {
      const trap = shuffleWords(words.join(" "), u).split(" ");
      assert.deepEqual(trap.toSorted(), words.toSorted());
      const moved = words.flatMap((word, at) => (trap[at] === word ? [] : [at]));
      assert.ok((moved.at(-1) as number) - (moved[0] as number) >= 14, "the piece is long enough");
      if (trap[0] === words[0]) kept.first += 1;
      if (trap[39] === words[39]) kept.last += 1;
    }
    assert.ok(kept.first > 40 && kept.last > 40, "it often begins after the first word or ends before the last");
  });
});
