import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { ThinkingSplitter, WHITE_SPACE_AROUND_TAG_MAX } from "./thinking-splitter.ts";

const TAGS = { open: "<think>", close: "</think>" };

function split(pieces: string[], isOpened = false): { reasoning: string; answer: string } {
  const splitter = new ThinkingSplitter(TAGS, { isOpened });
  const parts = [...pieces.flatMap((piece) => splitter.push(piece)), ...splitter.end({ isWhole: true })];
  const of = (channel: string): string =>
    parts
      .filter((part) => part.channel === channel)
      .map((part) => part.text)
      .join("");
  return { reasoning: of("reasoning"), answer: of("answer") };
}

describe("separating thinking from the answer", () => {
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
    // The output is only white space, which belongs to the answer because there is no tag.
    ["\n\n", "", "\n\n"],
  ] as const) {
    test(JSON.stringify(text), () => assert.deepEqual(split([text]), { reasoning, answer }));
  }

  test("returns the same parts however the text is cut into pieces", () => {
    const long = (unit: string) => fc.integer({ min: 60, max: 70 }).map((times) => unit.repeat(times));
    const word = fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom("<think>", "</think>", "<", "</th", "\n", " ", "word", "😀") },
      { weight: 1, arbitrary: fc.oneof(long(" "), long("\n"), long(" \n")) },
    );
    const text = fc.array(word, { maxLength: 12 });
    fc.assert(
      fc.property(text, fc.array(fc.nat(6), { maxLength: 40 }), fc.boolean(), (words, cuts, isOpened) => {
        const whole = words.join("");
        const pieces: string[] = [];
        let at = 0;
        for (const cut of cuts) {
          pieces.push(whole.slice(at, at + cut));
          at += cut;
        }
        pieces.push(whole.slice(at));
        assert.deepEqual(split(pieces, isOpened), split([whole], isOpened));
      }),
      { numRuns: 2000 },
    );
  });

  describe("white space and tags that do not count as text", () => {
    const bound = WHITE_SPACE_AROUND_TAG_MAX + TAGS.close.length;
    const FLOODS: [name: string, before: string, unit: string][] = [
      ["spaces from the start", "", " "],
      ["line breaks from the start", "", "\n"],
      ["spaces in the thinking", "<think>", " "],
      ["line breaks in the thinking", "<think>hm", "\n"],
      ["line breaks after the thinking", "<think>hm</think>", "\r"],
    ];
    for (const [name, before, unit] of FLOODS) {
      test(`are limited in length, both when held back and when dropped: ${name}`, () => {
        const splitter = new ThinkingSplitter(TAGS, { isOpened: false });
        splitter.push(before);
        let out = 0;
        for (let sent = 1; sent <= 5_000; sent++) {
          for (const { text } of splitter.push(unit)) out += text.length;
          assert.ok(sent - out <= bound, `${sent - out} characters are kept`);
        }
        const rest = before.startsWith("<think>") ? "</think>!" : "<think>!";
        for (const part of [...splitter.push(rest), ...splitter.end({ isWhole: true })]) out += part.text.length;
        assert.ok(5_000 + rest.length - out <= 2 * bound, "they are text");
      });
    }

    test(`include ${WHITE_SPACE_AROUND_TAG_MAX} white-space characters before and after a tag; one more counts as text`, () => {
      const lots = "\n".repeat(WHITE_SPACE_AROUND_TAG_MAX);
      const text = `${lots}<think>${lots}a${lots}</think>${lots}b`;
      assert.deepEqual(split([text]), { reasoning: "a", answer: "b" });
      const more = `${lots}<think>\n${lots}a\n${lots}</think>\n${lots}b`;
      assert.deepEqual(split([more]), { reasoning: "\na\n", answer: "\nb" });
      assert.deepEqual(split([` ${text}`]), { reasoning: "", answer: ` ${text}` });
    });
  });
});
