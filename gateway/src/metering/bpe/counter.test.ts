import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { readRandomTextCounts, readReferenceTextCounts } from "../fixtures/reference-counts.ts";
import { loadTables } from "../tokenizers.ts";
import { BpeCounter } from "./counter.ts";
import type { BpeTables } from "./tables.ts";

/**
 * Generates texts that a node might send: lone surrogates, combining marks, white space, long runs, special tokens as
 * text.
 */
const anyText = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: fc.string({ unit: "grapheme" }) },
      { weight: 2, arbitrary: fc.string({ unit: "binary" }) },
      {
        weight: 2,
        arbitrary: fc.constantFrom(" the", "Hello", " refactoring", "\r\n", "   ", "'ll", "<|im_end|>", "123"),
      },
      { weight: 2, arbitrary: fc.constantFrom("e\u0301", "\u0301", "\u0316", "가", "ᄀ", "ᅡ", "ᆨ", "न\u093c", "\u212b") },
      { weight: 1, arbitrary: fc.constantFrom("\ud83d", "\ude00", "😀", "\ud800") },
      {
        weight: 1,
        arbitrary: fc
          .record({ part: fc.constantFrom("a", " ", "\n", "!", " \n", "的"), times: fc.nat({ max: 700 }) })
          .map(({ part, times }) => part.repeat(times)),
      },
    ),
  )
  .map((parts) => parts.join(""));

/** The lengths of the parts into which a text is cut. They are used in turn. */
const cuts = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 40 });

function* partsOf(text: string, lengths: number[]): Generator<string> {
  for (let from = 0, i = 0; from < text.length; i++) {
    const length = lengths[i % lengths.length] as number;
    yield text.slice(from, from + length);
    from += length;
  }
}

for (const name of ["llama3", "qwen2.5"] as const) {
  describe(`token counting, ${name}`, async () => {
    const counter = new BpeCounter((await loadTables(name)) as BpeTables);
    const stream = (parts: Iterable<string>): number => {
      const text = counter.openStream();
      for (const part of parts) text.push(part);
      return text.end();
    };

    it("returns the published tokenizer's count for every reference text", () => {
      const texts = readReferenceTextCounts();
      assert.equal(texts.length, 2284);
      for (const reference of texts) assert.equal(counter.count(reference.text), reference[name], reference.text);
    });

    it("returns the published tokenizer's count for long random texts", () => {
      for (const reference of readRandomTextCounts()) {
        assert.equal(counter.count(reference.text), reference[name], reference.text.slice(0, 40));
      }
    });

    it("returns the same count for a text that arrives in parts of any size", () => {
      // In a stream, special tokens are plain text. Reference counts treat them as tokens, so such texts are skipped.
      for (const [i, reference] of [...readReferenceTextCounts(), ...readRandomTextCounts()].entries()) {
        const whole = counter.countPlain(reference.text);
        if (!reference.text.includes("<")) assert.equal(whole, reference[name]);
        assert.equal(stream(partsOf(reference.text, [1 + (i % 7), 1 + ((i * 5) % 11), 1 + (i % 3)])), whole);
      }
    });

    it("returns the same count wherever a text is split", () => {
      fc.assert(
        fc.property(anyText, cuts, (text, lengths) => {
          assert.equal(stream(partsOf(text, lengths)), counter.countPlain(text));
        }),
        { numRuns: 1500, verbose: 1 },
      );
    });

    it("returns the exact count at every moment of a stream", () => {
      fc.assert(
        fc.property(anyText, cuts, (text, lengths) => {
          const streamed = counter.openStream();
          let soFar = "";
          for (const part of partsOf(text, lengths)) {
            const bound = streamed.tokensMax(part.length);
            streamed.push(part);
            soFar += part;
            const total = streamed.total();
            assert.equal(total, counter.countPlain(soFar));
            assert.ok(total <= bound && streamed.tokensDecided <= total);
          }
        }),
        { numRuns: 300, verbose: 1 },
      );
    });

    it("can continue counting from a marked position in the text", () => {
      fc.assert(
        fc.property(anyText, anyText, anyText, (before, dropped, after) => {
          const streamed = counter.openStream();
          streamed.push(before);
          const mark = streamed.mark();
          streamed.push(dropped);
          streamed.total();
          streamed.rewind(mark);
          streamed.push(after);
          assert.equal(streamed.end(), counter.countPlain(before + after));
        }),
        { numRuns: 400, verbose: 1 },
      );
    });

    it("can continue counting from a marked position within a long run of letters or spaces", () => {
      const long = (part: string): string => part.repeat(1000);
      for (const before of [
        long(" "),
        `${long(" ")}\n${long(" ")}`,
        long("a"),
        long("!"),
        `${long("!")}${long("\n")}`,
      ]) {
        for (const dropped of ["\n", `${long("\t")}\n `, "x", "!\n", " x", "1"]) {
          const streamed = counter.openStream();
          streamed.push(before);
          const mark = streamed.mark();
          streamed.push(dropped);
          streamed.rewind(mark);
          streamed.push(" !a");
          assert.equal(streamed.end(), counter.countPlain(`${before} !a`));
        }
      }
    });

    it("counts an unpaired surrogate as U+FFFD", () => {
      fc.assert(
        fc.property(anyText, (text) => {
          assert.equal(counter.countPlain(text), counter.countPlain(text.toWellFormed()));
        }),
        { verbose: 1 },
      );
    });

    it("stops soon after the given token limit, and reports that the text exceeds it", () => {
      fc.assert(
        fc.property(anyText, fc.nat({ max: 2000 }), (text, limit) => {
          const exact = counter.count(text);
          const limited = counter.count(text, limit);
          if (exact <= limit) assert.equal(limited, exact);
          else assert.ok(limited > limit && limited <= exact);
        }),
        { numRuns: 500, verbose: 1 },
      );
    });

    it("counts special tokens in a prompt as one token each, and in an answer as text", () => {
      const token = name === "llama3" ? "<|eot_id|>" : "<|im_end|>";
      assert.equal(counter.count(`a${token}b`), 3);
      assert.ok(counter.countPlain(`a${token}b`) > 3);
    });
  });
}

describe("Unicode normalization, qwen2.5", async () => {
  const counter = new BpeCounter((await loadTables("qwen2.5")) as BpeTables);

  it("counts a text as its normalized form", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        assert.equal(counter.countPlain(text), counter.countPlain(text.toWellFormed().normalize("NFC")));
      }),
      { numRuns: 1000, verbose: 1 },
    );
  });
});
