/**
 * Keeps a sample of honest answers' scores for each model, method and class: the latest 512 of nodes in good standing.
 * A new score is judged by its rank in the sample, without an assumption about the distribution. Pure except for its
 * memory.
 *
 * A score is compared only with scores of other owners' nodes. One owner contributes at most a quarter of
 * the sample (an equal share when there are fewer than four), so none can shift the sample alone. When a node fails the
 * test, its owner's scores are removed. A score joins the sample only after its node passed some more checks. So
 * when nodes of many owners turn bad at the same time, they are quarantined before their answers look usual.
 *
 * A node decides on the length of its answers, so it could choose a length that no other node uses. Every score
 * therefore also belongs to a sample of answers of any length. Scores are judged by the sample of their own length only
 * if most owners' nodes give such answers, and otherwise by the sample of any length. That sample consists of honest
 * answers too, so an honest answer is no likelier than the others to be an outlier in it.
 */
import type { SpotCheckMethod } from "../../base/stored-enumerations.ts";
import { findLengthClasses, type Score } from "./score.ts";

const SAMPLE_MAX = 512;
/** The least number of scores for a judgement. With fewer, checks only extend the sample. */
export const CALIBRATION_SCORES_MIN = 100;
const SHARE_MAX = 1 / 4;
/** In the sample of one length, an owner has at most this many times the median number of scores per owner. */
const MEDIANS_MAX = 2;
/** A score is held back until the same node has this many newer ones. By then a node that turns bad is quarantined. */
const HELD = 20;

export interface ScoreWithNodeOwner {
  /** The identity that owns the node. */
  identity: string;
  score: Score;
}

/** The properties that scores must have in common to be comparable. */
export interface ComparableScoreGroup {
  model: string;
  method: SpotCheckMethod;
  class: string;
}

/** A figure of a score, and whether low or high values are suspicious. */
export const JUDGED_FIGURES = [
  { of: "mean", side: "low" },
  { of: "mean", side: "high" },
  { of: "opening", side: "low" },
  { of: "tail", side: "high" },
] as const satisfies readonly { of: keyof Score; side: "low" | "high" }[];

/** For each figure, an upper bound on the probability that an honest answer is as unusual as this one. */
export type TailProbabilities = readonly number[];

interface Sample {
  /** The scores in order of time. */
  readings: ScoreWithNodeOwner[];
  /** The number of scores of each owner. */
  counts: Map<string, number>;
}

export class Calibration {
  readonly #samples = new Map<string, Sample>();
  /** The latest scores of each node, which are held back and do not count yet. */
  readonly #held = new Map<string, { bench: ComparableScoreGroup; reading: ScoreWithNodeOwner }[]>();

  /**
   * Holds a score back until its node has newer ones. Adds it immediately while the sample is too small for judgements.
   */
  offer(nodeId: string, bench: ComparableScoreGroup, reading: ScoreWithNodeOwner): void {
    if (!this.isSettled(bench)) {
      this.add(bench, reading);
      return;
    }
    const held = this.#held.get(nodeId) ?? [];
    this.#held.set(nodeId, held);
    held.push({ bench, reading });
    const oldest = held.length > HELD ? held.shift() : undefined;
    if (oldest !== undefined) this.add(oldest.bench, oldest.reading);
  }

  /** Adds the score as the newest. If the sample is full, drops the oldest. */
  add(bench: ComparableScoreGroup, reading: ScoreWithNodeOwner): void {
    this.#addTo(bench, reading);
    const any = ofAnyLength(bench);
    if (any !== bench) this.#addTo(any, reading);
  }

  #addTo(bench: ComparableScoreGroup, reading: ScoreWithNodeOwner): void {
    const key = keyOf(bench);
    const sample: Sample = this.#samples.get(key) ?? { readings: [], counts: new Map() };
    this.#samples.set(key, sample);
    const { readings, counts } = sample;
    const { identity } = reading;
    readings.push(reading);
    counts.set(identity, (counts.get(identity) ?? 0) + 1);
    const ownMax = SAMPLE_MAX * Math.max(SHARE_MAX, 1 / counts.size);
    if ((counts.get(identity) ?? 0) > ownMax)
      leave(
        sample,
        readings.findIndex((other) => other.identity === identity),
      );
    else if (readings.length > SAMPLE_MAX) leave(sample, 0);
  }

  forget(identity: string): void {
    for (const [nodeId, held] of this.#held)
      if (held.some(({ reading }) => reading.identity === identity)) this.#held.delete(nodeId);
    for (const sample of this.#samples.values()) {
      sample.readings = sample.readings.filter((reading) => reading.identity !== identity);
      sample.counts.delete(identity);
    }
  }

  size(bench: ComparableScoreGroup): number {
    return this.#samples.get(keyOf(bench))?.readings.length ?? 0;
  }

  /** Whether the nodes of every owner can be judged: the sample is large enough without the scores of any one owner. */
  isSettled(bench: ComparableScoreGroup): boolean {
    const { readings = [], counts } = this.#samples.get(keyOf(ofAnyLength(bench))) ?? {};
    return readings.length - Math.max(0, ...(counts?.values() ?? [])) >= CALIBRATION_SCORES_MIN;
  }

  /** Judges a score. Returns undefined while the sample for its model, method and class is too small. */
  judge(bench: ComparableScoreGroup, { identity, score }: ScoreWithNodeOwner): TailProbabilities | undefined {
    const readings = this.#ofOwnLength(bench, identity) ?? this.#others(ofAnyLength(bench), identity);
    if (readings.length < CALIBRATION_SCORES_MIN) return undefined;
    const isLikelihood = bench.method === "text" || bench.method === "next";
    const isTextComparison = bench.method === "words" || bench.method === "meaning";
    // A high likelihood is suspicious: it comes from a loop or a sampler at low temperature. A high similarity is not.
    return JUDGED_FIGURES.map(({ of, side }) =>
      of === "mean" && side === "high" && !isLikelihood
        ? 1
        : tailProbability(readings, { of, side, value: score[of], byRankAlone: isTextComparison }),
    );
  }

  /** Leaves out the owner's own scores, so that a host cannot make its bad answers look normal. */
  #others(bench: ComparableScoreGroup, identity: string): ScoreWithNodeOwner[] {
    const sample = this.#samples.get(keyOf(bench))?.readings ?? [];
    return sample.filter((reading) => reading.identity !== identity);
  }

  /**
   * Returns the scores of answers in the same length class (short or long). Undefined if either class has too few
   * scores: then both are judged by the sample of answers of any length. If only one class were, its honest answers
   * would be outliers there too often. Each owner's number of scores is limited, so a few owners that cheat
   * together cannot form a sample of their own.
   */
  #ofOwnLength(bench: ComparableScoreGroup, identity: string): ScoreWithNodeOwner[] | undefined {
    const lengths = findLengthClasses(bench.class);
    if (lengths === undefined) return undefined;
    const any = this.#samples.get(keyOf({ ...bench, class: lengths.any }));
    let own: ScoreWithNodeOwner[] | undefined;
    for (const part of lengths.parts) {
      const sample = this.#samples.get(keyOf({ ...bench, class: part }));
      if (sample === undefined) return undefined;
      const identities = new Set([...(any?.counts.keys() ?? []), ...sample.counts.keys()]);
      identities.delete(identity);
      const counts = [...identities].map((other) => sample.counts.get(other) ?? 0).sort((a, b) => a - b);
      const most = MEDIANS_MAX * (counts[(counts.length - 1) >> 1] ?? 0);
      const kept = counts.reduce((sum, count) => sum + Math.min(most, count), 0);
      if (kept < CALIBRATION_SCORES_MIN) return undefined;
      if (part === bench.class) own = latestOf(sample, { identity, most });
    }
    return own;
  }
}

const ofAnyLength = (bench: ComparableScoreGroup): ComparableScoreGroup => {
  const any = findLengthClasses(bench.class)?.any;
  return any === undefined ? bench : { ...bench, class: any };
};

/** The latest scores of each owner but one, at most `most` of each. */
function latestOf(
  { readings, counts }: Sample,
  { identity: excluded, most }: { identity: string; most: number },
): ScoreWithNodeOwner[] {
  const left = new Map(counts);
  return readings.filter(({ identity }) => {
    if (identity === excluded) return false;
    const count = left.get(identity) as number;
    left.set(identity, count - 1);
    return count <= most;
  });
}

function leave({ readings, counts }: Sample, index: number): void {
  for (const { identity } of readings.splice(index, 1)) {
    const left = (counts.get(identity) ?? 0) - 1;
    if (left > 0) counts.set(identity, left);
    else counts.delete(identity);
  }
}

const keyOf = ({ model, method, class: kind }: ComparableScoreGroup): string => `${model} ${method} ${kind}`;

/**
 * An upper bound of the probability that an honest score is as bad as `value`.
 *
 * The rank among N honest scores gives p = (1 + those as bad) / (N + 1), which is exact on average over samples, but
 * one sample is used for many judgements, and may by chance have a thin tail. So p is raised to the upper end of its
 * own error: two standard deviations of a rank (2 √(p/N)) and 3/N, the bound for something never seen in N.
 *
 * If `value` is worse than every score of the sample, the rank alone would make junk look like the worst honest answer.
 * So the bound then also falls, with the square of the distance between `value` and the worst score. The unit is the
 * distance between the worst score and the median. This is cautious: a tail that falls so slowly has infinite variance,
 * but a mean of clipped logarithms has a finite one.
 *
 * Compared texts are judged by rank alone: in the sample nearly all may be equal, and an honest node whose engine words
 * some answers in another way would seem to be far outside.
 */
function tailProbability(
  readings: readonly ScoreWithNodeOwner[],
  { of, side, value, byRankAlone }: { of: keyof Score; side: "low" | "high"; value: number; byRankAlone: boolean },
): number {
  const n = readings.length;
  const sign = side === "low" ? 1 : -1;
  let asBad = 0;
  for (let i = 0; i < n; i++) if (sign * (readings[i] as ScoreWithNodeOwner).score[of] <= sign * value) asBad += 1;
  const p = (1 + asBad) / (n + 1);
  const bound = Math.min(1, p + 2 * Math.sqrt(p / n) + 3 / n);
  if (asBad > 0 || byRankAlone) return bound;
  const sorted = readings.map(({ score }) => sign * score[of]).sort((a, b) => a - b);
  const [lowest, median] = [sorted[0] as number, sorted[n >> 1] as number];
  const unit = Math.max(median - lowest, UNIT_MIN);
  return bound / (1 + (lowest - sign * value) / unit) ** 2;
}

/** The least unit of distance. If all honest scores are nearly equal, smaller differences are noise. */
const UNIT_MIN = 0.05;
