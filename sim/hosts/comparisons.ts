/** Simulated comparisons of short answers, which are too short to score: another node answers the same request. */
import type { Score } from "../../gateway/src/trust/spot-checks/score.ts";
import type { UniformRandom } from "../../gateway/src/trust/spot-checks/testing.ts";

/**
 * How the host's short answers compare with those of other hosts. `usual`: its engine is the others'. `other engine`:
 * honest, but no other host has this engine. `one word`: the same word for every request.
 */
export type ShortAnswers = "usual" | "other engine" | "one word";

/**
 * The share of short answers in other words. Measured with the demo model at temperature 0: 5 of 29
 * between two engines.
 */
const DIFFERENT = { usual: 0.02, "other engine": 0.2, "one word": 1 };

export function simulateComparison(answers: ShortAnswers, u: UniformRandom): Score {
  if (u() >= DIFFERENT[answers]) return { mean: 1, opening: 1, tail: 0, tokens: 6 };
  if (answers === "one word") return { mean: 0, opening: 0, tail: 1.2, tokens: 1 };
  const likeness = 0.2 + 0.6 * u();
  return { mean: likeness, opening: likeness, tail: 0.5 * u(), tokens: 6 };
}
