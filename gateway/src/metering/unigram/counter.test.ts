import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { readRandomTextCounts, readReferenceTextCounts, readUnigramCounts } from "../fixtures/reference-counts.ts";
import { loadTables } from "../tokenizers.ts";
import { UnigramCounter } from "./counter.ts";
import type { UnigramTables } from "./tables.ts";

describe("token counting, xlm-roberta", async () => {
  const counter = new UnigramCounter((await loadTables("xlm-roberta")) as UnigramTables);

  it("returns the published tokenizer's count for every reference text", () => {
    for (const reference of [...readReferenceTextCounts(), ...readRandomTextCounts()]) {
      assert.equal(counter.count(reference.text), reference["xlm-roberta"], reference.text.slice(0, 60));
    }
  });

  it("normalizes text like the published tokenizer", () => {
    const { extra } = readUnigramCounts();
    assert.ok(extra.length > 1500);
    for (const { text, count } of extra) assert.equal(counter.count(text), count, JSON.stringify(text));
  });

  it("gives a text the sum of its words' counts", () => {
    const words = fc.array(fc.string({ unit: fc.constantFrom(..."abcé的ก☃ﬁ①"), minLength: 1, maxLength: 2000 }));
    fc.assert(
      fc.property(words, (list) => {
        const sum = list.reduce((total, word) => total + counter.count(word), 0);
        assert.equal(counter.count(list.join(" \n")), sum);
      }),
      { verbose: 1 },
    );
  });

  it("stops soon after the given token limit, and reports that the text exceeds it", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 3000 }), fc.nat({ max: 1000 }), (text, limit) => {
        const exact = counter.count(text);
        const limited = counter.count(text, limit);
        if (exact <= limit) assert.equal(limited, exact);
        else assert.ok(limited > limit && limited <= exact);
      }),
      { verbose: 1 },
    );
  });

  it("counts an unpaired surrogate as U+FFFD", () => {
    for (const text of ["a\ud800b", "\udc00", "x\ud83d", "😀\ude00"]) {
      assert.equal(counter.count(text), counter.count(text.toWellFormed()));
    }
  });
});
