/** Tests texts that are slow to count. They check the counts and limit the work; the benchmark measures times. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createLog } from "../base/log.ts";
import { BpeCounter } from "./bpe/counter.ts";
import type { BpeTables } from "./bpe/tables.ts";
import { openTokenMetering } from "./metering.ts";
import { loadTables } from "./tokenizers.ts";

const MIB = 1024 * 1024;
const CONTEXT = 131_072;

/** Texts of ten mebibytes each in UTF-8. */
const HOSTILE: Record<string, () => string> = {
  "one letter": () => "a".repeat(10 * MIB),
  spaces: () => " ".repeat(10 * MIB),
  newlines: () => "\n".repeat(10 * MIB),
  "spaces and newlines": () => `${" ".repeat(700)}\n`.repeat((10 * MIB) / 701),
  "one Chinese character": () => "的".repeat((10 * MIB) / 3),
  emoji: () => "😀".repeat((10 * MIB) / 4),
  "halves of characters": () => "\ud800".repeat((10 * MIB) / 3),
  "combining marks": () => "\u0301\u0316".repeat((10 * MIB) / 4),
  "starts of special tokens": () => "<|".repeat(5 * MIB),
  "words without spaces": () => "informationgateway".repeat((10 * MIB) / 18),
  "bytes of no encoding": () =>
    Buffer.from(Uint8Array.from({ length: 4 * MIB }, (_, i) => (i * i * 31) >> 3)).toString(),
};

describe("hostile prompts of ten mebibytes each", () => {
  it("are counted, or refused because they exceed the limit", async () => {
    const metering = await openTokenMetering({ log: createLog("silent") });
    try {
      const inside: string[] = [];
      for (const [what, make] of Object.entries(HOSTILE)) {
        const text = make();
        for (const name of ["qwen2.5", "xlm-roberta"]) {
          const count = await metering.meter(name)?.countPrompt({ kind: "text", text }, CONTEXT);
          assert.ok(count !== undefined);
          assert.ok(count.over === null ? count.tokens <= CONTEXT : count.tokens > CONTEXT);
          if (count.over === null) inside.push(`${name}: ${what}, ${count.tokens}`);
        }
      }
      assert.deepEqual(inside, [
        "qwen2.5: spaces, 81920",
        "xlm-roberta: spaces, 2",
        "xlm-roberta: newlines, 2",
        "qwen2.5: spaces and newlines, 104706",
        "xlm-roberta: spaces and newlines, 2",
        "xlm-roberta: halves of characters, 2",
      ]);
    } finally {
      await metering.close();
    }
  });
});

describe("counts of one repeated hostile word", () => {
  for (const name of ["llama3", "qwen2.5"] as const) {
    it(`grow by a constant number of tokens per repetition, ${name}`, async () => {
      const counter = new BpeCounter((await loadTables(name)) as BpeTables);
      const growth = (part: string): number => {
        const counts = [1, 2, 3].map((times) => counter.countPlain(part.repeat(times)));
        assert.equal((counts[2] as number) - (counts[1] as number), (counts[1] as number) - (counts[0] as number));
        return (counts[1] as number) - (counts[0] as number);
      };
      // Each part is one mebibyte, so its length is a multiple of every token's length.
      assert.equal(growth(" ".repeat(MIB)), MIB / 128);
      assert.equal(growth("a".repeat(MIB)), MIB / 8);
      assert.equal(growth("的".repeat(MIB / 4)), MIB / 4);
    });
  }
});
