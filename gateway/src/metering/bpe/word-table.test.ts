import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { hashUnits } from "../piece-cache.ts";
import type { TokenizerAsset } from "../tokenizer-asset.ts";
import { buildWordTable, isLongWord, isShortText, isShortWord, SHORT_WORD_CHARS_MAX } from "./word-table.ts";

const unitsOf = (text: string): Uint16Array => Uint16Array.from({ length: text.length }, (_, i) => text.charCodeAt(i));

/** Encodes the words like those in a tokenizer's data file. */
function wordsOf(texts: string[]): ReturnType<typeof buildWordTable> {
  const units = unitsOf(texts.join(""));
  const sections: Record<string, Uint8Array> = {
    wordLengths: Uint8Array.from(texts, (text) => text.length),
    wordUnits: Uint8Array.of(...units.map((unit) => unit & 0xff), ...units.map((unit) => unit >> 8)),
  };
  return buildWordTable(((name: string) => sections[name]) as TokenizerAsset["section"]);
}

/** Looks a word up inside a longer text. */
function isWord(words: ReturnType<typeof buildWordTable>, text: string, before: string, after: string): boolean {
  const units = unitsOf(before + text + after);
  const [from, to] = [before.length, before.length + text.length];
  return isShortText(units, from, to)
    ? isShortWord(words, units, from, to)
    : isLongWord(words, hashUnits(units, from, to), units, from, to);
}

/**
 * Generates characters of which several share their low seven bits, the only bits that a short word stores. The null
 * character differs from no character only in the stored length.
 */
const text = fc.string({
  unit: fc.constantFrom("a", "b", " ", "\0", "\u007f", "\u0080", "\u00e1", "\u0161", "\u2061", "\ud83d"),
  minLength: 1,
  maxLength: SHORT_WORD_CHARS_MAX + 3,
});

describe("the words of a vocabulary (texts that are one token)", () => {
  it("are found in any surrounding text, and no other text is found", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(text, { maxLength: 60 }),
        fc.array(text),
        text,
        text,
        (known, others, before, after) => {
          const words = wordsOf(known);
          for (const one of known) assert.equal(isWord(words, one, before, after), true, JSON.stringify(one));
          for (const one of [...others, ...known.map((word) => `${word}\0`), ...known.map((word) => word.slice(1))]) {
            if (one !== "") assert.equal(isWord(words, one, before, after), known.includes(one), JSON.stringify(one));
          }
        },
      ),
      { numRuns: 1000, verbose: 1 },
    );
  });
});
