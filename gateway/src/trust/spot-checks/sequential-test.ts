/**
 * The sequential test of one node and model: decides when the evidence against the node is enough. Pure: the caller
 * keeps the state, which is a few numbers.
 *
 * Hypothesis: the node's answers score like those of nodes in good standing. A score has several figures, such as its
 * mean (`JUDGED_FIGURES`). Each check gives one p-value per figure: the probability that an honest answer has a figure
 * this unusual. Under the hypothesis a small p-value is as rare as it says: P(p ≤ u) ≤ u.
 *
 * The evidence grows like a stake that is bet against the hypothesis. A bet multiplies it by e(p) = k·p^(k-1), which is
 * 1 on average under the hypothesis (∫ k·p^(k-1) dp = 1) and large when p is small. Bets with small k win most from
 * blatant answers, and bets with k near 1 from a slight shift that lasts.
 *
 * A node may cheat from any moment on, so the evidence R is gathered for every possible beginning at once, with the
 * method of Shiryaev and Roberts:
 *
 *     R ← (R + w) · e(p),      w = days since the last check, at most 1
 *
 * Under the hypothesis the mean of R grows by w and no faster, so after T days it is at most T + 1 (the first check has
 * w = 1), and by Doob's inequality P(R reaches A within T days) ≤ (T + 1) / A. With A = 1 / α, that is a probability of
 * α for each node and day. `falseAlarms` sets α. How often a node is checked does not matter. The average of such
 * processes has the same bound, so each figure and each bet has its own R, and their average is compared with A. (Shin,
 * Ramdas, Rinaldo: "E-detectors", 2022, has the general theory.)
 *
 * Everything that only lowers a factor keeps the bound: verdict.ts lowers those that no second verifier supports.
 */
import { JUDGED_FIGURES, type TailProbabilities } from "./calibration.ts";
import { SAMPLING } from "./sampling.ts";

const BETS = [0.3, 0.6, 0.85] as const;
const DAY_MS = 86_400_000;
/** Evidence below this counts as gone. An honest node collects as much in a few days. */
const QUIET = 10;
/**
 * A factor this high means a score far below every honest score in the sample. After such a score, if it was confirmed,
 * the node is checked often for `WATCHED_CHECKS` checks. Otherwise, if only one answer in ten is bad, the evidence
 * would fade before the next bad answer is checked. The bound on false alarms does not depend on the frequency of
 * checks.
 */
const BLATANT = 20;
const WATCHED_CHECKS = 40;
/** The largest factor of one check, so that a single lie of a verifier is not enough. */
const FACTOR_MAX = 50;
/** A maximum far above every threshold, to avoid overflow. */
const EVIDENCE_MAX = 1e30;

export interface SequentialTestState {
  /** The time of the last check in milliseconds. Null: there was none. */
  at: number | null;
  /** The statistic R (see the top of this file) of each judged figure with each of the `BETS`. */
  evidence: readonly number[];
  /**
   * The time from which earnings are withheld. Null: there is no evidence. This is the time of the last check before
   * the first confirmed bad score of the current evidence, because a node that turns bad also gives unchecked answers
   * between two checks. It is at most an hour before that bad score.
   */
  badSince: number | null;
  /** The number of bad scores in the present evidence that two verifiers or a reference node confirmed. */
  confirmed: number;
  /**
   * How many more checks of this node are drawn at the higher rate. Set after a score far below every honest one
   * (`BLATANT`).
   */
  watch: number;
}

export const INITIAL_TEST_STATE: SequentialTestState = {
  at: null,
  evidence: Array.from({ length: JUDGED_FIGURES.length * BETS.length }, () => 0),
  badSince: null,
  confirmed: 0,
  watch: 0,
};

/**
 * The factors by which a check multiplies the evidence: one for each figure and bet (see the beginning of this file).
 * If all are 1, the check is no evidence.
 */
export type EvidenceFactors = readonly number[];

export const NEUTRAL_FACTORS: EvidenceFactors = INITIAL_TEST_STATE.evidence.map(() => 1);

export const computeEvidenceFactors = (judgement: TailProbabilities): EvidenceFactors =>
  judgement.flatMap((p) => BETS.map((k) => Math.min(k * p ** (k - 1), FACTOR_MAX)));

/** How bad one check is: the largest of its factors. */
export const largestFactor = (factors: EvidenceFactors): number => Math.max(...factors);

export interface CheckEvidence {
  at: number;
  factors: EvidenceFactors;
  /** Whether two verifiers or a reference node found the answer bad. */
  confirmedBad: boolean;
}

export function addCheck(
  state: SequentialTestState,
  { at, factors, confirmedBad }: CheckEvidence,
): SequentialTestState {
  const days = state.at === null ? 1 : Math.min(Math.max(at - state.at, 0) / DAY_MS, 1);
  const evidence = state.evidence.map((r, i) => Math.min((r + days) * (factors[i] ?? 1), EVIDENCE_MAX));
  const watch = confirmedBad && largestFactor(factors) >= BLATANT ? WATCHED_CHECKS : Math.max(0, state.watch - 1);
  const next = { at, evidence, watch };
  if (computeEvidenceStrength(next) < QUIET && watch === 0 && !confirmedBad)
    return { ...next, badSince: null, confirmed: 0 };
  const badSince = state.badSince ?? (confirmedBad ? Math.max(state.at ?? 0, at - SAMPLING.everyMs) : null);
  return { ...next, badSince, confirmed: state.confirmed + (confirmedBad ? 1 : 0) };
}

/** The strength of the evidence: the mean over all figures and bets, compared with `1 / falseAlarms`. */
export const computeEvidenceStrength = ({ evidence }: Pick<SequentialTestState, "evidence">): number =>
  evidence.reduce((sum, r) => sum + r, 0) / evidence.length;

/** Whether the evidence is enough for more frequent checks. */
export const isSuspected = (state: SequentialTestState): boolean =>
  state.watch > 0 || (state.confirmed > 0 && computeEvidenceStrength(state) >= QUIET);

/** The strength of evidence that at most one in a hundred honest nodes reaches per day. */
export const STRONG_EVIDENCE_MIN = 100;
export const isStronglySuspected = (state: SequentialTestState): boolean =>
  computeEvidenceStrength(state) >= STRONG_EVIDENCE_MIN;

/** The least number of confirmed bad scores for a quarantine. */
export const CONFIRMED_BAD_SCORES_MIN = 3;

/** Whether the evidence is enough for a quarantine. `falseAlarms`: the share of honest nodes that may fail per day. */
export const hasFailed = (state: SequentialTestState, falseAlarms: number): boolean =>
  state.confirmed >= CONFIRMED_BAD_SCORES_MIN && computeEvidenceStrength(state) >= 1 / falseAlarms;
