/**
 * From a verifier's answer to a score. Pure.
 *
 * The verifier says how likely its own engine finds each token of the answer. Of these the score keeps three figures:
 *   mean      of all tokens. Another model's words are less likely; words of a loop, or of a colder sampler, are likelier.
 *   opening   mean of the first tokens. Text that was not written for this prompt is unlikely there, however fluent it is later.
 *   tail      share of tokens that the verifier finds very unlikely. A smaller model whose sampler was cooled until its mean looks
 *             right still has more of these.
 * A logarithm is cut off at a floor, so that one odd token (a rare name, an emoji that the builds cut differently) cannot decide.
 *
 * What an honest answer scores depends on the temperature: at 0 every token is the likeliest, at 1 its mean is minus the model's
 * entropy. The verifier does not tell the entropy, so the figures are judged only among answers of the same class: temperature,
 * output format, length. Answers whose sampling bends probabilities beyond that (penalties, hot sampling) are a class of their own,
 * in which honest answers differ more and a cheat is found later, but found.
 */
import type { Sampling } from "@tollgate/protocol/frames.ts";
import type { CheckMethod } from "../../base/states.ts";

export interface Score {
  mean: number;
  opening: number;
  tail: number;
  /** The number of tokens that were scored. */
  tokens: number;
}

/** The floor of a log probability: about 1 in 22,000. Also used for a token that is not among the candidates. */
const FLOOR = -10;
/** About 1 in 150. */
const UNLIKELY = -5;
const OPENING_TOKENS = 16;

/** Undefined: no token. */
export function scoreOf(logprobs: readonly (number | null)[]): Score | undefined {
  if (logprobs.length === 0) return undefined;
  const clipped = logprobs.map((value) => Math.max(value ?? FLOOR, FLOOR));
  return {
    mean: meanOf(clipped),
    opening: meanOf(clipped.slice(0, OPENING_TOKENS)),
    tail: clipped.filter((value) => value < UNLIKELY).length / clipped.length,
    tokens: clipped.length,
  };
}

export const meanOf = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(values.length, 1);

const LONG_TOKENS = 48;
/** The score of a shorter answer says little: every model finds "Yes." likely. */
export const BRIEF_TOKENS = 8;
/** Above it honest answers vary too much. */
const TEMPERATURE_MAX = 1.2;

interface Answered {
  sampling: Sampling;
  formatted: boolean;
  outputTokens: number;
  /** The request's cap. */
  outputTokensMax: number;
}

/** The class within which scores are comparable. Options that the request leaves to the engine form their own class. */
export function classOf(answered: Answered, method: CheckMethod): string {
  const heat = answered.formatted ? "format" : heatOf(answered.sampling);
  if (method === "vectors") return method;
  // Comparisons judge lengths too.
  return method === "text" || method === "next" ? `${heat}-${lengthOf(answered)}` : heat;
}

/** The lengths between which a node decides, not the request. */
const CHOSEN_LENGTHS = ["short", "long"] as const;

/** The class that holds answers of any length, and its parts. Undefined: the request alone decides the class. */
export function lengthsOf(kind: string): { any: string; parts: readonly string[] } | undefined {
  const [any, length] = kind.split("-") as [string, string | undefined];
  if (!CHOSEN_LENGTHS.some((chosen) => chosen === length)) return undefined;
  return { any, parts: CHOSEN_LENGTHS.map((chosen) => `${any}-${chosen}`) };
}

/** Brief is only what the request's cap made brief: other brief answers are compared. */
function lengthOf({ outputTokens, outputTokensMax }: Answered): "brief" | "short" | "long" {
  if (outputTokensMax < BRIEF_TOKENS) return "brief";
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
