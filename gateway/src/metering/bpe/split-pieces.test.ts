import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { readReferenceTextCounts } from "../fixtures/reference-counts.ts";
import { loadTables } from "../tokenizers.ts";
import { findPieceEnd, findPlainWordEnd, PIECE_END_UNKNOWN } from "./split-pieces.ts";
import type { BpeTables } from "./tables.ts";

/**
 * The published pattern as a JavaScript expression. `\s` is written out as Unicode's White_Space, and case folding as
 * alternatives.
 */
function pattern(digitsMax: number): RegExp {
  const space = "\\p{White_Space}";
  return new RegExp(
    [
      "'[sStTmMdD\u017f]|'[rR][eE]|'[vV][eE]|'[lL][lL]",
      "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+",
      `\\p{N}{1,${digitsMax}}`,
      ` ?[^${space}\\p{L}\\p{N}]+[\\r\\n]*`,
      `${space}*[\\r\\n]+`,
      `${space}+(?!\\P{White_Space})`,
      `${space}+`,
    ].join("|"),
    "gu",
  );
}

const unitsOf = (text: string): Uint16Array => Uint16Array.from({ length: text.length }, (_, i) => text.charCodeAt(i));

const awkward = fc.string({
  unit: fc.oneof(
    fc.constantFrom(..."'’ \n\r\t\u00a0\u3000\u0085sSſtTrRvVeElLmMdD!?.…a1٣½é的ก😀𝒜𠀀\u0301\u200d\ufeff"),
    fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
  ),
});

for (const name of ["llama3", "qwen2.5"] as const) {
  describe(`pieces of text, ${name}`, async () => {
    const tables = (await loadTables(name)) as BpeTables;
    const cut = (text: string): string[] => {
      const units = unitsOf(text);
      const pieces: string[] = [];
      for (let from = 0; from < units.length; ) {
        const end = findPieceEnd(tables, units, from, units.length, true);
        pieces.push(text.slice(from, end));
        from = end;
      }
      return pieces;
    };

    it("equal the matches of the tokenizer's published regular expression", () => {
      for (const { text } of readReferenceTextCounts())
        assert.deepEqual(cut(text), text.match(pattern(tables.digitsMax)) ?? []);
      fc.assert(
        fc.property(awkward, (text) => {
          assert.deepEqual(cut(text), text.match(pattern(tables.digitsMax)) ?? []);
        }),
        { numRuns: 2000, verbose: 1 },
      );
    });

    it("are the same with and without the fast path for plain words", () => {
      const plain = fc.string({ unit: fc.constantFrom(..." '\naZz@[`{1é\u0301的") });
      fc.assert(
        fc.property(plain, (text) => {
          const units = unitsOf(text);
          for (let from = 0; from < units.length; from++) {
            const end = findPlainWordEnd(units, from, units.length);
            if (end !== PIECE_END_UNKNOWN) assert.equal(end, findPieceEnd(tables, units, from, units.length, false));
          }
        }),
        { numRuns: 2000, verbose: 1 },
      );
      assert.equal(findPlainWordEnd(unitsOf(" the end"), 0, 8), 4);
    });

    it("are reported as complete only when following text cannot change them", () => {
      fc.assert(
        fc.property(awkward, awkward, (text, more) => {
          const units = unitsOf(text);
          const whole = cut(text + more);
          for (let from = 0, piece = 0; from < units.length; piece++) {
            const end = findPieceEnd(tables, units, from, units.length, false);
            if (end === PIECE_END_UNKNOWN) break;
            assert.equal(text.slice(from, end), whole[piece]);
            from = end;
          }
        }),
        { numRuns: 2000, verbose: 1 },
      );
    });
  });
}
