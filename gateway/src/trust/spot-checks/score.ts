/**
 * Computes a score from a verifier's token probabilities. Pure.
 *
 * The verifier reports how likely its own engine finds each token of the answer. The score has three figures:
 *   mean      of all tokens. Another model's words are less likely. Words of a loop, or sampled at low temperature, are
 *             likelier.
 *   opening   mean of the first tokens. Text that was not written for this prompt is unlikely there, however fluent it
 *             is later.
 *   tail      share of tokens that the verifier finds very unlikely. A smaller model at a lower temperature can reach
 *             the right mean, but still has more such tokens.
 * Each logarithm is cut off at a floor, so that one odd token (a rare name, an emoji that builds tokenize differently)
 * cannot decide.
 *
 * An honest answer's score depends on the temperature. At 0 every token is the likeliest; at 1 the mean is minus the
 * model's entropy, which the verifier does not report. So figures are judged only among answers of the same class:
 * temperature, output format, length. Answers whose sampling changes probabilities in other ways (penalties, high
 * temperature) form a class of their own. Honest answers vary more in that class, so a cheat is found later there.
 */
import type { Sampling } from "@tollgate/protocol/frames.ts";
import type { SpotCheckMethod } from "../../base/stored-enumerations.ts";

export interface Score {
  mean: number;
  opening: number;
  tail: number;
  /** The number of tokens in the mean. */
  tokens: number;
}

/** The least log probability: about 1 in 22,000. Also stands for a token that is not among the candidates. */
const FLOOR = -10;
/** The log probability below which a token counts as very unlikely: about 1 in 150. */
const UNLIKELY = -5;
const OPENING_TOKENS = 16;

/** Returns undefined for an answer without tokens. */
export function scoreLogprobs(logprobs: readonly (number | null)[]): Score | undefined {
  if (logprobs.length === 0) return undefined;
  const clipped = logprobs.map((value) => Math.max(value ?? FLOOR, FLOOR));
  return {
    mean: computeMean(clipped),
    opening: computeMean(clipped.slice(0, OPENING_TOKENS)),
    tail: clipped.filter((value) => value < UNLIKELY).length / clipped.length,
    tokens: clipped.length,
  };
}

export const computeMean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(values.length, 1);

const LONG_TOKENS = 48;
/**
 * The least number of tokens of an answer that can be scored. Every model finds a shorter one, such as "Yes.", likely.
 */
export const SCORED_TOKENS_MIN = 8;
/** The highest temperature with a class of its own. Above it honest answers vary too much. */
const TEMPERATURE_MAX = 1.2;

interface Answered {
  sampling: Sampling;
  formatted: boolean;
  outputTokens: number;
  /** The output cap of the request. */
  outputTokensMax: number;
}

/**
 * The class within which scores are comparable. Requests that leave the temperature to the engine form a class of their
 * own (`open`).
 */
export function chooseScoreClass(answered: Answered, method: SpotCheckMethod): string {
  const heat = answered.formatted ? "format" : heatOf(answered.sampling);
  if (method === "vectors") return method;
  // Only the classes of scored answers contain a length. When two answers are compared (the other methods), the
  // comparison itself judges their lengths.
  return method === "text" || method === "next" ? `${heat}-${lengthOf(answered)}` : heat;
}

/** The length classes between which a node can choose for any request, because it decides how long its answer gets. */
const CHOSEN_LENGTHS = ["short", "long"] as const;

/**
 * The class for answers of any length, and its two length classes. Undefined if the request alone determines the class.
 */
export function findLengthClasses(kind: string): { any: string; parts: readonly string[] } | undefined {
  const [any, length] = kind.split("-") as [string, string | undefined];
  if (!CHOSEN_LENGTHS.some((chosen) => chosen === length)) return undefined;
  return { any, parts: CHOSEN_LENGTHS.map((chosen) => `${any}-${chosen}`) };
}

/**
 * Returns the length class of an answer. `brief`: the request's own cap is below `SCORED_TOKENS_MIN`. If the node
 * itself ends an answer that early, the answer is compared instead of scored.
 */
function lengthOf({ outputTokens, outputTokensMax }: Answered): "brief" | "short" | "long" {
  if (outputTokensMax < SCORED_TOKENS_MIN) return "brief";
  return outputTokens < LONG_TOKENS ? "short" : "long";
}

function heatOf(sampling: Sampling): "bent" | "open" | "greedy" | "cool" | "warm" {
  const { temperature, top_p = 1, presence_penalty = 0, frequency_penalty = 0 } = sampling;
  if (presence_penalty !== 0 || frequency_penalty !== 0) return "bent";
  if (temperature !== undefined && temperature > TEMPERATURE_MAX) return "bent";
  if (temperature === 0 || top_p <= 0.1) return "greedy";
  if (temperature === undefined) return "open";
  return temperature <= 0.6 ? "cool" : "warm";
}
