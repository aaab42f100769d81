import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { readRandomTextCounts } from "../fixtures/reference-counts.ts";
import { loadTables } from "../tokenizers.ts";
import { PieceTokenCounter } from "./count-piece-tokens.ts";
import { LongPiece } from "./long-piece.ts";
import { PieceCounter } from "./piece-counter.ts";
import type { BpeTables } from "./tables.ts";

const unitsOf = (text: string): Uint16Array => Uint16Array.from(text, (char) => char.charCodeAt(0));

/** Generates texts of a few kilobytes that repeat a few parts, as an attacker would choose them. */
const longText = fc
  .array(
    fc.record({
      part: fc.constantFrom("a", "ab", "aab", "information", " ", "\n", "-", "=-", "的", "xyz", "e\u0301", "é", "ก"),
      times: fc.nat({ max: 300 }),
    }),
    { maxLength: 12 },
  )
  .map((parts) => parts.map(({ part, times }) => part.repeat(times)).join(""));

for (const name of ["llama3", "qwen2.5"] as const) {
  describe(`long pieces of text, ${name}`, async () => {
    const tables = (await loadTables(name)) as BpeTables;
    const counter = new PieceCounter(tables);
    const whole = new PieceTokenCounter(tables);
    const countWhole = (text: string): number => {
      const bytes = Buffer.from(text);
      return whole.count(bytes, 0, bytes.length);
    };

    it("have the same token count as the whole text, in whatever steps the text is appended", () => {
      fc.assert(
        fc.property(longText, fc.array(fc.integer({ min: 1, max: 400 })), (text, cuts) => {
          const piece = new LongPiece(counter);
          const units = unitsOf(text);
          let from = 0;
          for (const length of [...cuts, units.length]) {
            const to = Math.min(from + length, units.length);
            piece.append(units, from, to);
            from = to;
          }
          assert.equal(piece.count(), countWhole(text));
        }),
        { numRuns: 150, verbose: 1 },
      );
    });

    it("have the right count at every length, also after they were truncated", () => {
      fc.assert(
        fc.property(longText, fc.nat({ max: 4000 }), (text, back) => {
          const piece = new LongPiece(counter);
          const units = unitsOf(text);
          for (let from = 0; from < units.length; from += 977) {
            piece.append(units, from, Math.min(from + 977, units.length));
            const soFar = text.slice(0, from + 977);
            assert.equal(piece.length, Buffer.byteLength(soFar));
            assert.equal(piece.count(), countWhole(soFar));
          }
          const kept = text.slice(0, back);
          piece.truncate(Buffer.byteLength(kept));
          assert.equal(piece.count(), countWhole(kept));
          piece.append(units, kept.length, units.length);
          assert.equal(piece.count(), countWhole(text));
        }),
        { numRuns: 60, verbose: 1 },
      );
    });

    it("have the right count even if later text makes a checkpoint (a position to continue counting) invalid", () => {
      let tookBack = 0;
      fc.assert(
        fc.property(longText, fc.integer({ min: 2, max: 24 }), (text, windowBytes) => {
          const piece = new LongPiece(counter, { windowBytes, marginBytes: 0 });
          const units = unitsOf(text.slice(0, 600));
          for (let from = 0; from < units.length; from++) {
            const before = piece.tokensSettled;
            piece.append(units, from, from + 1);
            if (piece.tokensSettled < before) tookBack++;
          }
          assert.equal(piece.count(), countWhole(text.slice(0, 600)));
        }),
        { numRuns: 200, verbose: 1 },
      );
      assert.ok(tookBack > 0);
    });

    it("are counted with work in proportion to their length", () => {
      for (const { text } of readRandomTextCounts()) {
        const bytes = Buffer.byteLength(text);
        const before = counter.bpe.bytesTaken;
        const piece = new LongPiece(counter);
        const units = Uint16Array.from({ length: text.length }, (_, i) => text.charCodeAt(i));
        piece.append(units, 0, units.length);
        piece.count();
        assert.ok(counter.bpe.bytesTaken - before < bytes * 1.4 + 2000, text.slice(0, 40));
      }
    });
  });
}
