import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { BpeHeader } from "../tokenizer-asset.ts";
import { loadTables } from "../tokenizers.ts";
import { PieceTokenCounter } from "./count-piece-tokens.ts";
import { type BpeTables, buildBpeTables, NO_MERGE_RANK, pairRank } from "./tables.ts";

/** The reference definition of the algorithm, without optimizations. */
function encodeSlowly(tables: BpeTables, bytes: Uint8Array): number[] {
  const symbols: number[] = [...bytes];
  for (;;) {
    let lowest = NO_MERGE_RANK;
    let at = -1;
    for (let i = 0; i + 1 < symbols.length; i++) {
      const rank = pairRank(tables, symbols[i] as number, symbols[i + 1] as number);
      if (rank < lowest) [lowest, at] = [rank, i];
    }
    if (at < 0) return symbols;
    symbols.splice(at, 2, tables.merged[lowest] as number);
  }
}

/** Generates bytes of a small alphabet, so that many merges follow each other. */
const bytes = fc
  .constantFrom("ab", "a", " ", "-=", "ing the", "aeiou", "的一是", "0123456789abcdef", "\u0301e😀")
  .chain((alphabet) => fc.array(fc.constantFrom(...Buffer.from(alphabet)), { maxLength: 300 }))
  .map((array) => Uint8Array.from(array));

for (const name of ["llama3", "qwen2.5"] as const) {
  describe(`byte-pair encoding, ${name}`, async () => {
    const tables = (await loadTables(name)) as BpeTables;
    const bpe = new PieceTokenCounter(tables);

    it("returns the same tokens as the reference definition", () => {
      fc.assert(
        fc.property(fc.oneof(bytes, fc.uint8Array({ maxLength: 200 })), (piece) => {
          const expected = encodeSlowly(tables, piece);
          assert.equal(bpe.count(piece, 0, piece.length), expected.length);
          for (const [token, symbol] of expected.entries()) {
            assert.equal(bpe.tokenBytes(token), tables.symbolBytes[symbol]);
          }
        }),
        { numRuns: 400, verbose: 1 },
      );
    });

    it("counts an empty text as zero tokens", () => {
      assert.equal(bpe.count(new Uint8Array(0), 0, 0), 0);
    });
  });
}

describe("byte-pair encoding with merges out of order", () => {
  /** Builds a vocabulary from pairs in order of rank. Each pair creates a symbol, numbered from 256. */
  function tablesOf(pairs: [number, number][], extra: { symbolBytes: number[]; eager: number[] }): BpeTables {
    const column = (values: number[]): Uint8Array =>
      Uint8Array.from([0, 8, 16].flatMap((shift) => values.map((value) => (value >> shift) & 0xff)));
    const sections: Record<string, Uint8Array> = {
      classes: new Uint8Array(4),
      mergeSteps: new Uint8Array(pairs.length).fill(1),
      mergeLeft: column(pairs.map(([left]) => left)),
      mergeRight: column(pairs.map(([, right]) => right)),
      mergeEager: Uint8Array.from(extra.eager),
      symbolBytes: Uint8Array.from([...Array.from({ length: 256 }, () => 1), ...extra.symbolBytes]),
      wordLengths: new Uint8Array(0),
      wordUnits: new Uint8Array(0),
    };
    const header: BpeHeader = {
      kind: "bpe",
      source: "",
      digitsMax: 3,
      nfc: false,
      tokenBytesMax: 8,
      merges: pairs.length,
      words: 0,
      addedTokens: [],
      sections: [],
    };
    return buildBpeTables({ header, section: (name) => sections[name] ?? new Uint8Array(0) });
  }

  it("applies a merge of an earlier rank as soon as a merge of a later rank makes it possible", () => {
    const [a, b] = [0x61, 0x62];
    const pairs: [number, number][] = [
      [257, a], // "ab" + "a", which ranks first
      [a, b], // "a" + "b", which creates "ab"
    ];
    const tables = tablesOf(pairs, { symbolBytes: [3, 2], eager: [0, 1] });
    const bpe = new PieceTokenCounter(tables);
    const text = Buffer.from("ababab");
    assert.equal(bpe.count(text, 0, text.length), encodeSlowly(tables, text).length);
    assert.equal(bpe.tokenBytes(0), 3);
  });
});
