import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { OutputChannel } from "@tollgate/protocol/frames.ts";
import fc from "fast-check";
import { BpeCounter } from "./bpe/counter.ts";
import type { BpeTables } from "./bpe/tables.ts";
import { CappedOutput, LOOK_AHEAD_UNITS } from "./capped-output.ts";
import { loadTables } from "./tokenizers.ts";

interface Delta {
  channel: OutputChannel;
  text: string;
}

const deltaText = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(" the", "Hel", "lo", " refactor", "in", "g", "\n", "\n\n", " ", ".", "'", "ll"),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom("é", "e", "\u0301", "가", "ᆨ", "😀", "\ud83d", "\ude00", "的", "12", "<|im_end|>"),
  },
  { weight: 2, arbitrary: fc.string({ unit: "grapheme", maxLength: 20 }) },
  {
    weight: 1,
    arbitrary: fc
      .record({ part: fc.constantFrom("a", "-", " ", "\n", " \n", "的", "na"), times: fc.nat({ max: 800 }) })
      .map(({ part, times }) => part.repeat(times)),
  },
);
const deltas: fc.Arbitrary<Delta[]> = fc.array(
  fc.record({ channel: fc.constantFrom<OutputChannel>("answer", "answer", "reasoning"), text: deltaText }),
  { maxLength: 40 },
);

/** All positions between characters, and the end. */
function* boundaries(text: string): Generator<number> {
  for (let at = 0; at < text.length; at += (text.codePointAt(at) as number) > 0xffff ? 2 : 1) yield at;
  yield text.length;
}

for (const name of ["llama3", "qwen2.5"] as const) {
  describe(`the output cap, ${name}`, async () => {
    const counter = new BpeCounter((await loadTables(name)) as BpeTables);
    const open = (tokensMax: number): CappedOutput => new CappedOutput(tokensMax, () => counter.openStream());
    const exact = ({ answer, reasoning }: Record<OutputChannel, string>): number =>
      counter.countPlain(answer) + counter.countPlain(reasoning);

    it("passes all text up to the cap", () => {
      fc.assert(
        fc.property(deltas, (all) => {
          const passed = { answer: "", reasoning: "" };
          let most = 0;
          for (const { channel, text } of all) {
            passed[channel] += text;
            most = Math.max(most, exact(passed));
          }
          const output = open(most);
          for (const { channel, text } of all) assert.equal(output.push(channel, text), text);
          assert.equal(output.full, false);
          assert.deepEqual(output.end(), {
            answerTokens: counter.countPlain(passed.answer),
            reasoningTokens: counter.countPlain(passed.reasoning),
          });
        }),
        { numRuns: 300, verbose: 1 },
      );
    });

    it("keeps the exact count within the cap, and cuts no more text than necessary", () => {
      fc.assert(
        fc.property(deltas, fc.nat({ max: 120 }), (all, tokensMax) => {
          const output = open(tokensMax);
          const passed = { answer: "", reasoning: "" };
          for (const { channel, text } of all) {
            const wasFull = output.full;
            const kept = output.push(channel, text);
            assert.ok(text.startsWith(kept));
            if (wasFull) assert.equal(kept, "");
            else if (kept !== text) assertLongest(passed, { channel, text }, kept, tokensMax);
            passed[channel] += kept;
            assert.ok(exact(passed) <= tokensMax);
            assert.equal(output.full, wasFull || kept !== text);
          }
          const { answerTokens, reasoningTokens } = output.end();
          assert.equal(answerTokens, counter.countPlain(passed.answer));
          assert.equal(reasoningTokens, counter.countPlain(passed.reasoning));
        }),
        { numRuns: 300, verbose: 1 },
      );
    });

    /** Asserts that no slightly longer part would have been within the cap. */
    function assertLongest(passed: Record<OutputChannel, string>, delta: Delta, kept: string, tokensMax: number): void {
      const ends = [...boundaries(delta.text)].filter((end) => end > kept.length);
      for (const end of ends.filter((end) => end <= kept.length + LOOK_AHEAD_UNITS)) {
        const longer = { ...passed, [delta.channel]: passed[delta.channel] + delta.text.slice(0, end) };
        assert.ok(exact(longer) > tokensMax, `${end} units would fit`);
      }
    }

    it("allows a word that fits although a prefix of it would have too many tokens", () => {
      // Some prefixes of " refactoring" have more tokens than the whole word.
      const output = open(counter.countPlain(" refactoring"));
      assert.equal(output.push("answer", " refactoring"), " refactoring");
      assert.equal(output.full, false);
    });

    it("passes no text when the cap is zero", () => {
      const output = open(0);
      assert.equal(output.push("answer", "Hello"), "");
      assert.equal(output.full, true);
      assert.deepEqual(output.end(), { answerTokens: 0, reasoningTokens: 0 });
    });

    it("is shared by answer and reasoning", () => {
      const output = open(3);
      assert.equal(output.push("reasoning", "one two"), "one two");
      assert.equal(output.push("answer", " three four"), " three");
      assert.equal(output.full, true);
      assert.deepEqual(output.end(), { answerTokens: 1, reasoningTokens: 2 });
    });

    it("never splits a character", () => {
      for (let tokensMax = 0; tokensMax < 12; tokensMax++) {
        assert.ok(open(tokensMax).push("answer", "😀🏽👨‍👩‍👧𠀀".repeat(2)).isWellFormed());
      }
    });

    it("never splits a character, even where a long text is divided to be counted in steps", () => {
      for (const [before, character] of Array.from(
        { length: 40 },
        (_, i) => [120 + (i >> 1), i % 2 === 0 ? "😀" : "𒀀"] as const,
      )) {
        const text = `${"word ".repeat(40).slice(0, before)}${character.repeat(3)}${" and more words".repeat(9)}`;
        for (let cap = 20; cap < 60; cap++) {
          const passed = open(cap).push("answer", text);
          assert.ok(
            passed.isWellFormed(),
            `${before} units before, a cap of ${cap}: ${JSON.stringify(passed.slice(-4))}`,
          );
        }
      }
    });

    it("passes exactly 3,000 tokens of an endless word that arrives one character at a time", () => {
      const output = open(3000);
      let passed = 0;
      for (let i = 0; i < 40_000 && !output.full; i++) passed += output.push("answer", "a").length;
      assert.equal(output.full, true);
      assert.equal(counter.countPlain("a".repeat(passed)), 3000);
      assert.ok(counter.countPlain("a".repeat(passed + 1)) > 3000);
    });
  });
}
