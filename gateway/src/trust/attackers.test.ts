/**
 * Nodes without a model that try to pass canaries. The solver represents what a host could build without reading the
 * questions one by one: it has many ways to extract an answer from a prompt, and learns from 2,000 canaries with
 * answers the twelve rules ("where this word occurs, use that extractor") that answer most of them.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { seededRandom } from "../base/testing.ts";
import { type ActiveModel, loadCatalogue } from "../metering/catalogue.ts";
import type { CanaryQuestion } from "./canary.ts";
import { generateCanary } from "./generated-canaries.ts";
import { findNumbers } from "./questions/word-lists.ts";

const catalogue = await loadCatalogue(new URL("../../catalogue/models.json", import.meta.url));
const LEARNT_FROM = 2000;
const TRIED_ON = 2000;
const RULES = 12;

interface Read {
  all: string;
  /** The text of the prompt's last message, which holds the question. */
  asks: string;
  /** All numbers in the whole prompt. */
  numbers: number[];
  names: string[];
  words: string[];
  quoted: string[];
  /** The names (capitalized words) in the last message. */
  asksNames: string[];
  asksWords: string[];
  keys: string[];
}

type Extract = (read: Read) => string | undefined;

function readOf({ messages }: CanaryQuestion): Read {
  const all = messages.map(({ content }) => content).join("\n");
  const asks = messages.at(-1)?.content ?? "";
  return {
    all,
    asks,
    numbers: findNumbers(all).filter((value) => value < 100),
    names: all.match(/\b[A-Z][a-z]+\b/g) ?? [],
    words: all.match(/\w+/g) ?? [],
    quoted: [...all.matchAll(/"([^"]+)"/g)].map(([, word]) => word as string),
    asksNames: asks.match(/\b[A-Z][a-z]+\b/g) ?? [],
    asksWords: asks.match(/\w+/g) ?? [],
    keys: asks.slice(-160).match(/\b[A-Z][a-z]+\b|(?<=")\w+(?=")/g) ?? [],
  };
}

/** Every simple way to extract an answer from a prompt. */
function extractors(): Extract[] {
  const made: Extract[] = [];
  const at = <T>(list: readonly T[], i: number): T | undefined => list.at(i);
  const places = [0, 1, 2, 3, 4, -1, -2, -3];
  const small = ({ numbers }: Read): number[] => numbers;
  const text = (value: number | undefined): string | undefined => (value === undefined ? undefined : String(value));
  for (const i of places) {
    made.push((read) => text(at(small(read), i)));
    made.push((read) => text((at(small(read), i) ?? Number.NaN) + 1));
    for (const list of ["names", "words", "quoted", "asksNames", "asksWords"] as const)
      made.push((read) => at(read[list], i));
    for (const j of places) {
      if (i === j) continue;
      const two = (of: (a: number, b: number) => number): Extract => {
        return (read) => {
          const [a, b] = [at(small(read), i), at(small(read), j)];
          return a === undefined || b === undefined ? undefined : String(of(a, b));
        };
      };
      made.push(two((a, b) => a - b));
      if (i < j)
        made.push(
          two((a, b) => a + b),
          two((a, b) => a * b),
        );
    }
  }
  made.push(
    (read) => text(Math.max(...small(read))),
    (read) => text(Math.min(...small(read))),
  );
  made.push((read) => text(small(read).reduce((sum, value) => sum + value, 0)));
  made.push((read) => text(small(read).length));
  // The word next to an earlier occurrence of a word of the question.
  for (const key of [0, 1, 2, -1, -2]) {
    for (const offset of [-4, -3, -2, -1, 1, 2, 3, 4]) {
      made.push(({ keys, words }) => {
        const named = at(keys, key);
        const found = named === undefined ? -1 : words.indexOf(named);
        return found < 0 ? undefined : words[found + offset];
      });
    }
  }
  const quoted = ({ asks }: Read): string | undefined => /"(\w+)"/.exec(asks)?.[1];
  const listed = ({ asks }: Read): string[] => /((?:\w+, )+\w+)/.exec(asks)?.[1]?.split(", ") ?? [];
  made.push(
    (read) => [...(quoted(read) ?? "")].reverse().join(""),
    (read) => [...(quoted(read) ?? "")].join("-"),
  );
  made.push((read) =>
    listed(read)
      .map((word) => word.charAt(0))
      .join(""),
  );
  for (const joint of ["-", ";", "/", "+"])
    made.push(
      (read) => listed(read).toReversed().join(joint),
      (read) => listed(read).toSorted().join(joint),
    );
  // Guesses the name on the line with the highest number, and the name on the line with the lowest.
  for (const order of [1, -1]) {
    made.push(({ all }) => {
      const lines = all.split("\n").map((line) => ({ line, value: findNumbers(line)[0] ?? Number.NaN }));
      const best = lines.filter(({ value }) => value < 100).sort((a, b) => order * (b.value - a.value))[0];
      return best?.line.match(/[A-Z][a-z]+/)?.[0];
    });
  }
  return made;
}

interface Rule {
  cue: string;
  extract: number;
}

const cuesOf = ({ asks }: Read): Set<string> => new Set(asks.toLowerCase().match(/[a-z]+/g) ?? []);
const isSame = (one: string | undefined, other = ""): boolean =>
  one !== undefined && one.length === other.length && one.toLowerCase() === other.toLowerCase();

/** Picks twelve rules greedily by gain. For a new question, the first rule whose cue word occurs decides. */
function learn(questions: CanaryQuestion[], ways: Extract[]): Rule[] {
  const reads = questions.map(readOf);
  const right = ways.map((way) => reads.map((read, i) => isSame(way(read), questions[i]?.answer)));
  const byCue = new Map<string, number[]>();
  for (const [i, read] of reads.entries()) {
    for (const cue of cuesOf(read)) {
      const where = byCue.get(cue) ?? [];
      byCue.set(cue, where);
      where.push(i);
    }
  }
  const cues = [...byCue].filter(([, where]) => where.length >= 20);
  const open = new Set(questions.keys());
  return Array.from({ length: RULES }, () => {
    let best = { cue: "", extract: 0, gain: -1 };
    for (const [cue, where] of cues) {
      const left = where.filter((i) => open.has(i));
      for (const [extract, passes] of right.entries()) {
        let gain = 0;
        for (const i of left) if (passes[i]) gain++;
        // The penalty keeps out rules that match many questions but are often wrong, because they would block later
        // rules.
        if (gain - left.length / 50 > best.gain) best = { cue, extract, gain: gain - left.length / 50 };
      }
    }
    for (const i of byCue.get(best.cue) ?? []) open.delete(i);
    return best;
  });
}

describe("nodes without a model", () => {
  const share = (questions: CanaryQuestion[], answer: (question: CanaryQuestion) => string | undefined): number =>
    questions.filter((question) => question.judge({ text: answer(question) ?? "", vectors: [] }) === undefined).length /
    questions.length;

  for (const [id, seed] of [
    ["tiny-3b", 1],
    ["mid-14b", 2],
  ] as const) {
    const random = seededRandom(seed);
    const model = catalogue.active.get(id) as ActiveModel;
    const drawn = (count: number): CanaryQuestion[] =>
      Array.from({ length: count }, () => generateCanary(model, random));

    test(`${id}: twelve rules learned from 2,000 canaries pass fewer than 20 % of new ones`, (t) => {
      const ways = extractors();
      const rules = learn(drawn(LEARNT_FROM), ways);
      const part = share(drawn(TRIED_ON), (question) => {
        const read = readOf(question);
        const cues = cuesOf(read);
        const rule = rules.find(({ cue }) => cues.has(cue));
        return ways[rule?.extract ?? 0]?.(read);
      });
      t.diagnostic(`${ways.length} ways; ${(100 * part).toFixed(1)} % passed`);
      assert.ok(part > 0, "the solver solves some");
      assert.ok(part < 0.2, `${(100 * part).toFixed(1)} %`);
    });

    test(`${id}: the most common answer, or the prompt's last number, last word or whole text, passes fewer than 5 % of canaries`, () => {
      const counts = new Map<string, number>();
      for (const { answer = "" } of drawn(LEARNT_FROM)) counts.set(answer, (counts.get(answer) ?? 0) + 1);
      const common = [...counts].sort(([, a], [, b]) => b - a)[0]?.[0] ?? "";
      const tried = drawn(TRIED_ON);
      const last = (pattern: RegExp) => (question: CanaryQuestion) => readOf(question).all.match(pattern)?.at(-1);
      for (const answer of [
        () => common,
        last(/\d+/g),
        last(/\w+/g),
        (question: CanaryQuestion) => readOf(question).all,
      ]) {
        const part = share(tried, answer);
        assert.ok(part < 0.05, `${(100 * part).toFixed(1)} %`);
      }
    });
  }
});
