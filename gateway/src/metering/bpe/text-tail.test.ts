import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { loadTables } from "../tokenizers.ts";
import type { BpeTables } from "./tables.ts";
import { TextTail } from "./text-tail.ts";

describe("normalization of text in a stream", async () => {
  const { classes } = (await loadTables("qwen2.5")) as BpeTables;
  const arrive = (parts: string[], nfc = true): string => {
    const text = new TextTail({ classes, nfc });
    for (const part of parts) text.append(part, 0, part.length);
    text.end();
    return String.fromCharCode(...text.units.subarray(0, text.length));
  };
  const parts = fc.array(
    fc.oneof(
      fc.constantFrom(
        "a",
        "e",
        "\u0301",
        "\u0316",
        "\u0345",
        "ᄀ",
        "ᅡ",
        "ᆨ",
        "가",
        "\ud83d",
        "\ude00",
        "\u0958",
        "\u1161",
        "",
      ),
      // Generates texts that are long enough to be copied at once, some of them with characters that rule this out.
      fc
        .record({
          plain: fc.constantFrom("naïve ", "Zürich", "ſ—", "😀"),
          end: fc.constantFrom("", "e", "\u0301", "\ud83d"),
        })
        .map(({ plain, end }) => plain.repeat(12) + end),
      fc.string({ unit: "binary" }),
    ),
  );

  it("gives the normal form wherever the text is split", () => {
    fc.assert(
      fc.property(parts, (texts) => {
        assert.equal(arrive(texts), texts.join("").toWellFormed().normalize("NFC"));
      }),
      { numRuns: 2000, verbose: 1 },
    );
  });

  it("gives well-formed, otherwise unchanged text for a tokenizer without normalization", () => {
    fc.assert(
      fc.property(parts, (texts) => {
        assert.equal(arrive(texts, false), texts.join("").toWellFormed());
      }),
      { numRuns: 500, verbose: 1 },
    );
  });

  it("marks text as final only when more text cannot change it", () => {
    fc.assert(
      fc.property(parts, parts, (before, after) => {
        const text = new TextTail({ classes, nfc: true });
        for (const part of before) text.append(part, 0, part.length);
        const settled = String.fromCharCode(...text.units.subarray(0, text.normalEnd));
        assert.ok([...before, ...after].join("").toWellFormed().normalize("NFC").startsWith(settled));
      }),
      { numRuns: 2000, verbose: 1 },
    );
  });

  it("splits a long run of combining marks into the same blocks, wherever the text is split", () => {
    const marks = "\u0301\u0316".repeat(300);
    const lots = [
      `e${marks.slice(0, 128)}`,
      marks.slice(128, 257),
      marks.slice(257, 386),
      marks.slice(386, 515),
      marks.slice(515),
    ];
    const expected = `${lots.map((lot) => lot.normalize("NFC")).join("")}x`;
    const text = `e${marks}x`;
    for (const length of [1, 7, 128, 129, 1000]) {
      assert.equal(arrive(text.match(new RegExp(`[^]{1,${length}}`, "g")) ?? []), expected);
    }
  });
});
