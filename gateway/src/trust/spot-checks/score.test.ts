import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CALIBRATION_SCORES_MIN, Calibration } from "./calibration.ts";
import { compareAnswers, compareVectors, computeWordSimilarity } from "./compare-answers.ts";
import { chooseScoreClass, scoreLogprobs } from "./score.ts";

const BENCH = { model: "m", method: "text", class: "warm-long" } as const;

describe("the score of an answer", () => {
  test("counts unlikely tokens and tokens outside the candidates with a fixed lowest value", () => {
    const score = scoreLogprobs([null, -30, -1, -1, 0, 0, 0, 0]);
    assert.deepEqual(score, { mean: -22 / 8, opening: -22 / 8, tail: 2 / 8, tokens: 8 });
  });
  test("is undefined for an answer without a token", () => {
    assert.equal(scoreLogprobs([]), undefined);
    assert.deepEqual(scoreLogprobs([-1]), { mean: -1, opening: -1, tail: 0, tokens: 1 });
  });
  test("changes little with a single unusual token", () => {
    const fine = Array.from({ length: 60 }, () => -0.5);
    const odd = scoreLogprobs([...fine.slice(1), -1000]);
    assert.ok((odd?.mean ?? -10) > -0.7);
  });
});

describe("the calibration class of an answer", () => {
  const of = (sampling: Parameters<typeof chooseScoreClass>[0]["sampling"], formatted = false, outputTokens = 100) =>
    chooseScoreClass({ sampling, formatted, outputTokens, outputTokensMax: 200 }, "text");
  test("depends on the temperature, the format and the length", () => {
    assert.equal(of({ temperature: 0 }), "greedy-long");
    assert.equal(of({ temperature: 1, top_p: 0.05 }), "greedy-long");
    assert.equal(of({ temperature: 0.5 }), "cool-long");
    assert.equal(of({ temperature: 1 }, false, 20), "warm-short");
    assert.equal(of({ temperature: 1 }, false, 7), "warm-short", "the node chose the length");
    const capped = { sampling: { temperature: 1 }, formatted: false, outputTokens: 7, outputTokensMax: 7 };
    assert.deepEqual([chooseScoreClass(capped, "text"), chooseScoreClass(capped, "words")], ["warm-brief", "warm"]);
    assert.equal(of({}), "open-long");
    assert.equal(of({ temperature: 1 }, true), "format-long");
  });
  test("depends on sampling parameters that change token probabilities", () => {
    assert.equal(of({ temperature: 1.8 }), "bent-long");
    assert.equal(of({ frequency_penalty: 1 }), "bent-long");
  });
});

describe("calibration by the scores of honest answers", () => {
  const reading = (identity: string, mean: number) => ({
    identity,
    score: { mean, opening: mean, tail: 0, tokens: 60 },
  });
  const filled = (): Calibration => {
    const calibration = new Calibration();
    for (let i = 0; i < 400; i++) calibration.add(BENCH, reading(`host ${i % 8}`, -0.5 - (i % 100) / 200));
    return calibration;
  };

  test(`judges no score before it has ${CALIBRATION_SCORES_MIN} earlier scores`, () => {
    const calibration = new Calibration();
    for (let i = 1; i < CALIBRATION_SCORES_MIN; i++) calibration.add(BENCH, reading("host", -1));
    assert.equal(calibration.judge(BENCH, reading("x", -9)), undefined);
    calibration.add(BENCH, reading("host", -1));
    assert.notEqual(calibration.judge(BENCH, reading("x", -9)), undefined);
  });
  test("rates a score near the median as usual, and more distant scores as rarer", () => {
    const calibration = filled();
    const low = (mean: number): number => calibration.judge(BENCH, reading("x", mean))?.[0] as number;
    assert.ok(low(-0.7) > 0.4);
    const values = [-0.75, -0.99, -1.2, -3, -9].map(low);
    assert.deepEqual(
      values,
      values.toSorted((a, b) => b - a),
    );
    assert.ok((values.at(-1) as number) < 1e-4);
  });
  test("limits the scores of one node owner to a quarter of the sample", () => {
    const calibration = filled();
    for (let i = 0; i < 5000; i++) calibration.add(BENCH, reading("poison", -9));
    const low = calibration.judge(BENCH, reading("x", -9))?.[0] as number;
    assert.ok(low < 0.36, `${low}`);
  });
  test("judges a node only by the scores of other owners' nodes", () => {
    const calibration = filled();
    for (let i = 0; i < 5000; i++) calibration.add(BENCH, reading("poison", -9));
    const low = calibration.judge(BENCH, reading("poison", -9))?.[0] as number;
    assert.ok(low < 1e-3, `${low}`);
  });
  for (const method of ["words", "meaning"] as const)
    test(`rates a difference in ${method} that no compared answers had as no rarer than one in the number of comparisons`, () => {
      const calibration = new Calibration();
      const bench = { model: "m", method, class: "greedy" };
      const compared = (identity: string, likeness: number, lengths: number) => ({
        identity,
        score: { mean: likeness, opening: likeness, tail: lengths, tokens: 6 },
      });
      for (let i = 0; i < 400; i++) calibration.add(bench, compared(`host ${i % 8}`, 1, 0));
      const judged = calibration.judge(bench, compared("x", 0, 2)) ?? [];
      assert.equal(judged.length, 4);
      for (const p of judged) assert.ok(p >= 1 / 400, `${p}`);
    });
  describe("for answers whose length the node can choose", () => {
    const SHORT = { ...BENCH, class: "warm-short" };
    const isUsual = (calibration: Calibration, mean: number): boolean =>
      (calibration.judge(SHORT, reading("x", mean))?.[0] as number) > 0.3;

    test("judges a short answer by answers of any length until most hosts have given enough short ones", () => {
      const calibration = new Calibration();
      for (let i = 0; i < 400; i++) calibration.add(SHORT, reading(`cheat ${i % 4}`, -9));
      assert.ok(isUsual(calibration, -9), "there is nothing else");
      for (let i = 0; i < 400; i++) calibration.add(BENCH, reading(`host ${i % 8}`, -1));
      assert.equal(isUsual(calibration, -9), false);
      for (let i = 0; i < 24; i++) calibration.add(SHORT, reading(`host ${i % 8}`, -1));
      assert.equal(isUsual(calibration, -9), false);
    });
    test("judges a short answer by other short answers once most hosts have given enough of them", () => {
      const calibration = filled();
      for (let i = 0; i < 160; i++) calibration.add(SHORT, reading(`host ${i % 8}`, -3));
      assert.ok(isUsual(calibration, -3));
      for (let i = 0; i < 60; i++) calibration.add(SHORT, reading("cheat", -9));
      assert.equal(isUsual(calibration, -9), false);
    });
    test("judges a short answer by answers of any length until short and long answers both have enough scores", () => {
      const calibration = new Calibration();
      for (let i = 0; i < 160; i++) calibration.add(SHORT, reading(`host ${i % 8}`, -1));
      assert.ok(isUsual(calibration, -1));
      for (let i = 0; i < 80; i++) calibration.add(BENCH, reading(`host ${i % 8}`, -3));
      assert.ok(isUsual(calibration, -2), "the sample of any length has both");
    });
  });

  test("drops the scores of one owner's nodes on request, and keeps the others", () => {
    const calibration = filled();
    calibration.forget("host 0");
    assert.equal(calibration.size(BENCH), 350);
  });
});

describe("the comparison of two answers", () => {
  test("rates texts by their common words, and texts without words by equality", () => {
    assert.ok(computeWordSimilarity("The cat sat.", "the CAT sat") > 0.999);
    assert.equal(computeWordSimilarity("one two", "three four"), 0);
    assert.equal(computeWordSimilarity("", "x"), 0);
    assert.deepEqual(
      [computeWordSimilarity("", ""), computeWordSimilarity("?", "? "), computeWordSimilarity("?", "!")],
      [1, 1, 0],
    );
  });
  test("rates texts by their vectors and by the ratio of their lengths", () => {
    const vectors = [Float32Array.of(1, 0), Float32Array.of(1, 1)];
    const { mean, tail } = compareAnswers({ text: "a", tokens: 99 }, { text: "b", tokens: 9 }, vectors);
    assert.ok(Math.abs(mean - Math.SQRT1_2) < 1e-6);
    assert.ok(Math.abs(tail - Math.log(10)) < 1e-9);
  });
  test("accepts vectors that differ by rounding, and refuses other dimensions and values that are not numbers", () => {
    const one = Float32Array.of(0.6, 0.8);
    assert.equal(compareVectors([one], [Float32Array.of(0.601, 0.799)]).tail, 0);
    assert.equal(compareVectors([one], [Float32Array.of(0.6, 0.8, 0)]).mean, 0);
    assert.equal(compareVectors([one], [Float32Array.of(Number.NaN, 1)]).mean, 0);
    assert.equal(compareVectors([one], []).tail, 1);
  });
});
