/**
 * Canaries made up for one asking, so that no list of answers passes: the answer depends on words or numbers drawn at random.
 * The kinds are ones that the smallest models answer right practically always. A constant fails, and so does the prompt said
 * back, because it names what an answer must not. Pure but for the randomness that is passed in.
 */
import type { Random } from "../base/random.ts";
import type { ActiveModel, Canary } from "../metering/catalogue.ts";
import { type Question, questionOf, questionOfAll } from "./canary.ts";

/** Short: room for the answer and a few words around it, not for every answer there could be. */
const ANSWER_TOKENS = 24;
/** A model that thinks apart needs room for its thoughts before it, and some think long. */
const THINKING_TOKENS = 4096;
const TRIPLES = 4;

export function makeUp(model: Pick<ActiveModel, "kind" | "build" | "contextLimit">, random: Random): Question {
  if (model.kind === "embedding") return questionOfAll(Array.from({ length: TRIPLES }, () => triple(random)));
  const thinking = model.build.reasoning === undefined ? 0 : Math.min(THINKING_TOKENS, model.contextLimit >> 1);
  const max_tokens = ANSWER_TOKENS + thinking;
  return questionOf({ ...pick(KINDS, random)(random), max_tokens });
}

type Asked = Pick<Extract<Canary, { prompt: string }>, "prompt" | "expect" | "forbid">;

/** One of three words that no language has. */
function oneOfThree(random: Random): Asked {
  const words: string[] = [];
  while (words.length < 3) {
    const word = madeUpWord(random);
    if (!words.includes(word)) words.push(word);
  }
  const chosen = random.below(3);
  const which = ["first", "second", "third"][chosen];
  const prompt = pick(
    [
      `Here are three words: ${words.join(", ")}. Write only the ${which} word.`,
      `${words.join(", ")}. Which of these is the ${which} word? Answer with that word only.`,
    ],
    random,
  );
  const others = words.filter((_, i) => i !== chosen).join("|");
  return { prompt, expect: `(?i:\\b${words[chosen]}\\b)`, forbid: `(?i:\\b(?:${others})\\b)` };
}

function sum(random: Random): Asked {
  const [a, b] = [11 + random.below(39), 11 + random.below(39)];
  const prompt = pick(
    [`What is ${a} + ${b}? Answer with the number only.`, `Add ${a} and ${b}. Answer with the number only.`],
    random,
  );
  return { prompt, ...numbers(a + b, [a, b]) };
}

function nextNumber(random: Random): Asked {
  const from = 20 + random.below(900);
  const shown = [from, from + 1, from + 2];
  const prompt = pick(
    [
      `Which number comes next: ${shown.join(", ")}? Answer with the number only.`,
      `Count on: ${shown.join(", ")}. Answer with the next number only.`,
    ],
    random,
  );
  return { prompt, ...numbers(from + 3, shown) };
}

const KINDS = [oneOfThree, sum, nextNumber];

/** The number is in the answer; of others only those that the question named. */
function numbers(answer: number, named: number[]): Pick<Asked, "expect" | "forbid"> {
  const allowed = [answer, ...named].join("|");
  return { expect: `(?<!\\d)${answer}(?!\\d)`, forbid: `(?<!\\d)(?!(?:${allowed})(?!\\d))\\d+` };
}

const CONSONANTS = [..."bdfgklmnprstvz"];
const VOWELS = [..."aeiou"];

function madeUpWord(random: Random): string {
  return Array.from({ length: 3 }, () => `${pick(CONSONANTS, random)}${pick(VOWELS, random)}`).join("");
}

const LOOKS = ["old", "red", "small", "broken", "heavy", "green", "wooden"];
const THINGS = ["horse", "boat", "piano", "ladder", "kettle", "bicycle", "lantern", "goat"];
const PLACES = ["barn", "harbour", "church", "forest", "bakery", "station", "mill", "bridge"];
const DUES = [
  "tax filings",
  "pension claims",
  "insurance premiums",
  "loan repayments",
  "export licences",
  "audit reports",
];

/** One scene told twice in the same words, and a sentence from an office. */
function triple(random: Random): Extract<Canary, { far: string }> {
  const [look, thing, place] = [pick(LOOKS, random), pick(THINGS, random), pick(PLACES, random)];
  return {
    near: [`The ${look} ${thing} stood beside the ${place}.`, `Beside the ${place} there was a ${look} ${thing}.`],
    far: `Quarterly ${pick(DUES, random)} are due within ${10 + random.below(80)} working days.`,
  };
}

const pick = <T>(of: readonly T[], random: Random): T => of[random.below(of.length)] as T;
