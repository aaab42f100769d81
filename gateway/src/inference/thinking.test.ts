import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { ThinkingSplitter } from "./thinking.ts";

const TAGS = { open: "<think>", close: "</think>" };

function split(pieces: string[]): { reasoning: string; answer: string } {
  const splitter = new ThinkingSplitter(TAGS);
  const parts = [...pieces.flatMap((piece) => splitter.push(piece)), ...splitter.end()];
  const of = (channel: string): string =>
    parts
      .filter((part) => part.channel === channel)
      .map((part) => part.text)
      .join("");
  return { reasoning: of("reasoning"), answer: of("answer") };
}

describe("thinking apart", () => {
  for (const [text, reasoning, answer] of [
    ["<think>I add.</think>4", "I add.", "4"],
    ["<think>\nI add.\n</think>\n\n4 it is.\n", "I add.", "4 it is.\n"],
    ["  \n<think>a</think>b", "a", "b"],
    ["no tags at all", "", "no tags at all"],
    ["a <think>later</think> tag is text", "", "a <think>later</think> tag is text"],
    ["<thin ice", "", "<thin ice"],
    ["<think>never closed", "never closed", ""],
    ["<think>a</think>b</think>c", "a", "b</think>c"],
    ["<think>x </thi y</think>z", "x </thi y", "z"],
    ["", "", ""],
  ] as const) {
    test(JSON.stringify(text), () => assert.deepEqual(split([text]), { reasoning, answer }));
  }

  test("however the text is cut into pieces, the parts are the same", () => {
    const text = fc.array(fc.constantFrom("<think>", "</think>", "<", "</th", "\n", " ", "word", "😀"), {
      maxLength: 12,
    });
    fc.assert(
      fc.property(text, fc.array(fc.nat(6), { maxLength: 40 }), (words, cuts) => {
        const whole = words.join("");
        const pieces: string[] = [];
        let at = 0;
        for (const cut of cuts) {
          pieces.push(whole.slice(at, at + cut));
          at += cut;
        }
        pieces.push(whole.slice(at));
        assert.deepEqual(split(pieces), split([whole]));
      }),
      { numRuns: 2000 },
    );
  });
});
