import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CALIBRATION_SCORES_MIN, Calibration, type ComparableScoreGroup } from "./calibration.ts";
import { chooseScoreClass, scoreLogprobs } from "./score.ts";
import {
  addCheck,
  CONFIRMED_BAD_SCORES_MIN,
  computeEvidenceFactors,
  computeEvidenceStrength,
  hasFailed,
  INITIAL_TEST_STATE,
  isSuspected,
  largestFactor,
  NEUTRAL_FACTORS,
  type SequentialTestState,
} from "./sequential-test.ts";
import { createSeededRandom, type SimulatedServer, simulateLogprobs, type UniformRandom } from "./testing.ts";
import { decideCheckVerdict, decideNextStep } from "./verdict.ts";

const DAY_MS = 86_400_000;
const FALSE_ALARMS = 1e-4;
/** Noise levels of honest machines, which differ in hardware and in builds of the same quantization. */
const HONEST_NOISE = [0.02, 0.05, 0.1, 0.15];
const TEMPERATURES = [0, 0.3, 0.7, 1];
const LENGTHS = [12, 24, 50];
/** The lengths of a model's answers in tokens. One in 25 is short: too few for a sample of short answers. */
const MOSTLY_LONG = [...Array.from({ length: 24 }, () => 60), 12];

/** The checks of a fleet. Each score is judged by earlier scores, and joins them if its node is in good standing. */
class Checks {
  readonly calibration = new Calibration();
  readonly #u: UniformRandom;
  readonly #lengths: readonly number[];

  constructor(seed: number, lengths: readonly number[] = LENGTHS) {
    this.#u = createSeededRandom(seed);
    this.#lengths = lengths;
    for (let i = 0; i < 4800; i++) this.check(INITIAL_TEST_STATE, { identity: `host ${i % 6}`, at: i, trusted: true });
  }

  check(
    state: SequentialTestState,
    {
      at,
      identity,
      trusted,
      served = {},
    }: { at: number; identity: string; trusted: boolean; served?: Partial<SimulatedServer> },
  ): SequentialTestState {
    const u = this.#u;
    const pick = <T>(of: readonly T[]): T => of[Math.floor(u() * of.length)] as T;
    const asked = pick(TEMPERATURES);
    const answer = { temperature: asked, tokens: pick(this.#lengths), noise: pick(HONEST_NOISE), ...served };
    const bench: ComparableScoreGroup = {
      model: "m",
      method: "text",
      class: chooseScoreClass(
        { sampling: { temperature: asked }, formatted: false, outputTokens: answer.tokens, outputTokensMax: 200 },
        "text",
      ),
    };
    // Both verifiers score the same answer, made with the same random draws. Only the verifiers' own noise differs.
    const score = scoreLogprobs(simulateLogprobs(answer, u));
    assert.ok(score);
    const judged = this.calibration.judge(bench, { identity, score });
    if (trusted) this.calibration.add(bench, { identity, score });
    const opinion = { factors: judged && computeEvidenceFactors(judged), reference: false };
    const opinions = { first: opinion, third: opinion };
    const control = decideNextStep(opinions) === "control" ? this.#control(bench, asked, answer.tokens) : null;
    const { factors, verdict } = decideCheckVerdict({ ...opinions, control });
    return addCheck(state, { at, factors, confirmedBad: verdict === "bad" });
  }

  /** An honest node's answer to a similar request. */
  #control(
    bench: ComparableScoreGroup,
    temperature: number,
    tokens: number,
  ): { factors: readonly number[] | undefined; reference: boolean } {
    const score = scoreLogprobs(simulateLogprobs({ temperature, tokens, noise: 0.05 }, this.#u));
    const judged = score && this.calibration.judge(bench, { identity: "control", score });
    return { factors: judged && computeEvidenceFactors(judged), reference: false };
  }

  /** The number of checks until the test fails; undefined when it does not. */
  until(served: Partial<SimulatedServer>, { max }: { max: number }): number | undefined {
    let state = INITIAL_TEST_STATE;
    for (let i = 1; i <= max; i++) {
      state = this.check(state, { at: i * 600_000, identity: "cheat", trusted: true, served });
      if (hasFailed(state, FALSE_ALARMS)) return i;
    }
    return undefined;
  }
}

describe("the sequential test of a node's check scores", () => {
  // `npm run sim:hosts` runs the same with 100,000 checks.
  for (const [title, count, lengths] of [
    ["20,000 honest scores with noise in seeds, hardware and quantisation", 20_000, LENGTHS],
    ["5,000 honest scores of which few are of short answers", 5_000, MOSTLY_LONG],
  ] as const)
    test(`raises no false alarm in ${title}`, () => {
      const checks = new Checks(1, lengths);
      const nodes = Array.from({ length: 40 }, () => INITIAL_TEST_STATE);
      let worst = 0;
      for (let i = 0; i < count; i++) {
        const node = i % nodes.length;
        // A node keeps its hardware. Every tenth node has the noisiest honest hardware.
        const served = node % 10 === 0 ? { noise: 0.15 } : { noise: HONEST_NOISE[node % 3] as number };
        const at = Math.floor(i / nodes.length) * 864_000;
        nodes[node] = checks.check(nodes[node] as SequentialTestState, {
          at,
          identity: `host ${node % 20}`,
          trusted: true,
          served,
        });
        worst = Math.max(worst, computeEvidenceStrength(nodes[node] as SequentialTestState));
      }
      assert.ok(worst < 1 / FALSE_ALARMS, `the strongest evidence against an honest node was ${worst}`);
    });

  for (const [name, served, max] of [
    ["junk", { text: "junk" }, 8],
    ["a loop of words", { text: "loop" }, 60],
    ["a smaller model", { noise: 2.5 }, 60],
    ["a smaller model without chance, whatever the temperature", { noise: 2.5, temperature: 0 }, 200],
    ["a poor quantisation", { noise: 1.2 }, 600],
  ] as const) {
    test(`finds ${name} within ${max} checks`, () => {
      const checks = new Checks(2);
      for (let round = 0; round < 5; round++) {
        const found = checks.until(served, { max });
        assert.ok(found !== undefined, `not found in ${max} checks`);
      }
    });
  }

  test("finds a smaller model that gives short answers where honest answers are long", () => {
    const checks = new Checks(5, MOSTLY_LONG);
    assert.ok(checks.until({ noise: 2.5, tokens: 12 }, { max: 120 }) !== undefined);
  });

  test("finds a node that was honest for 1,000 checks and then cheats", () => {
    const checks = new Checks(3);
    let state = INITIAL_TEST_STATE;
    for (let i = 0; i < 1000; i++) state = checks.check(state, { at: i * 864_000, identity: "sybil", trusted: true });
    const since = 1000 * 864_000;
    let count = 0;
    while (!hasFailed(state, FALSE_ALARMS) && count < 20) {
      state = checks.check(state, {
        at: since + count * 864_000,
        identity: "sybil",
        trusted: true,
        served: { text: "junk" },
      });
      count += 1;
    }
    assert.ok(count < 20, `not found after ${count} checks`);
    // The last honest answer before the junk may look bad by chance, so the evidence may begin one check early.
    assert.ok(
      state.badSince !== null && state.badSince >= since - 2 * 864_000,
      "evidence begins with the junk answers",
    );
  });

  test("keeps the configured rate of false alarms per day, however often a node is checked", () => {
    const u = createSeededRandom(4);
    for (const perDay of [1, 24, 1000]) {
      let failed = 0;
      for (let node = 0; node < 2000; node++) {
        let state = INITIAL_TEST_STATE;
        for (let i = 0; i < Math.min(perDay, 300); i++) {
          // Uniform p-values, equal for all figures: an honest node with perfectly correlated figures.
          const p = 1 - u();
          state = addCheck(state, {
            at: (i * DAY_MS) / perDay,
            factors: computeEvidenceFactors([p, p, p, p]),
            confirmedBad: p < 0.05,
          });
          if (computeEvidenceStrength(state) >= 100) failed += 1;
          if (computeEvidenceStrength(state) >= 100) break;
        }
      }
      // The probability of a false alarm within T days is at most (T + 1) / 100. For one day and 2,000 nodes that is 40
      // alarms. Three standard deviations are added.
      assert.ok(failed <= 60, `${failed} of 2000 at ${perDay} checks a day`);
    }
  });

  test("gives bad scores less weight as they get older", () => {
    const bad = computeEvidenceFactors([0.001, 1, 0.001, 0.001]);
    const fine = computeEvidenceFactors([0.7, 0.7, 0.7, 0.9]);
    let state = addCheck(INITIAL_TEST_STATE, { at: DAY_MS, factors: bad, confirmedBad: true });
    assert.ok(isSuspected(state));
    for (let i = 1; i <= 60; i++)
      state = addCheck(state, { at: DAY_MS + i * 60_000, factors: fine, confirmedBad: false });
    assert.deepEqual([state.badSince, state.confirmed, isSuspected(state)], [null, 0, false]);
  });

  test("dates the start of bad answers to the last check before the first bad score, but at most an hour before that score", () => {
    const bad = computeEvidenceFactors([0.001, 1, 0.001, 0.001]);
    const fine = computeEvidenceFactors([0.7, 0.7, 0.7, 0.9]);
    const HOUR_MS = 3_600_000;
    for (const [lastMs, since] of [
      [undefined, DAY_MS - HOUR_MS],
      [60_000, DAY_MS - 60_000],
      [HOUR_MS + 1, DAY_MS - HOUR_MS],
    ] as const) {
      const before =
        lastMs === undefined
          ? INITIAL_TEST_STATE
          : addCheck(INITIAL_TEST_STATE, { at: DAY_MS - lastMs, factors: fine, confirmedBad: false });
      const first = addCheck(before, { at: DAY_MS, factors: bad, confirmedBad: true });
      assert.equal(first.badSince, since, `last checked ${lastMs} ms before`);
      const second = addCheck(first, { at: DAY_MS + 60_000, factors: bad, confirmedBad: true });
      assert.equal(second.badSince, since, "the second bad score changes nothing");
    }
  });

  test(`convicts no node with fewer than ${CONFIRMED_BAD_SCORES_MIN} confirmed bad scores`, () => {
    const bad = computeEvidenceFactors([1e-6, 1, 1e-6, 1e-6]);
    let state = INITIAL_TEST_STATE;
    for (let i = 0; i < 10; i++)
      state = addCheck(state, { at: i, factors: bad, confirmedBad: i < CONFIRMED_BAD_SCORES_MIN - 1 });
    assert.equal(hasFailed(state, FALSE_ALARMS), false);
    assert.equal(hasFailed(addCheck(state, { at: 11, factors: bad, confirmedBad: true }), FALSE_ALARMS), true);
  });

  test("ages the evidence only by the elapsed time if a check gives no result", () => {
    const state = addCheck(addCheck(INITIAL_TEST_STATE, { at: 0, factors: NEUTRAL_FACTORS, confirmedBad: false }), {
      at: DAY_MS / 2,
      factors: NEUTRAL_FACTORS,
      confirmedBad: false,
    });
    assert.equal(computeEvidenceStrength(state), 1.5);
    assert.equal(largestFactor(NEUTRAL_FACTORS), 1);
    assert.ok(CALIBRATION_SCORES_MIN > 0);
  });
});
