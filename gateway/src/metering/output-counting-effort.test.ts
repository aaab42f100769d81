/**
 * Tests the limits of the work that a node can cause with little text. Work is measured in bytes passed to the encoder.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PieceCounter } from "./bpe/piece-counter.ts";
import type { BpeTables } from "./bpe/tables.ts";
import { TextStream } from "./bpe/text-stream.ts";
import { CappedOutput } from "./capped-output.ts";
import { loadTables } from "./tokenizers.ts";

const RUNS: Record<string, (units: number) => string> = {
  "one letter": (units) => "a".repeat(units),
  spaces: (units) => " ".repeat(units),
  newlines: (units) => "\n".repeat(units),
  "spaces and newlines": (units) => `${" ".repeat(300)}\n`.repeat(units / 301),
  dashes: (units) => "-".repeat(units),
  "one Chinese character": (units) => "的".repeat(units),
  "words without spaces": (units) => "informationgatewaytheinternationalhello".repeat(units / 39),
  "letters that never repeat": (units) =>
    Array.from({ length: units }, (_, i) => String.fromCharCode(97 + ((i * i * 7 + (i >> 3)) % 26))).join(""),
};

for (const name of ["llama3", "qwen2.5"] as const) {
  describe(`the work of counting output, ${name}`, async () => {
    const pieces = new PieceCounter((await loadTables(name)) as BpeTables);
    const work = (): number => pieces.bpe.bytesTaken + pieces.aside.bytesTaken;
    const spent = (task: () => void): number => {
      const before = work();
      task();
      return work() - before;
    };

    for (const [what, make] of Object.entries(RUNS)) {
      it(`encodes fewer than 250 bytes per character of a long text if the total is read after every character: ${what}`, () => {
        const stream = new TextStream(pieces);
        const text = make(12_000);
        const bytes = spent(() => {
          for (const character of text) {
            stream.push(character);
            stream.total();
          }
        });
        assert.ok(bytes / text.length < 250, `${Math.round(bytes / text.length)} bytes encoded for each character`);
      });

      it(`is small when the output cap cuts a text: ${what}`, () => {
        const text = make(12_000);
        const output = new CappedOutput(20, () => new TextStream(pieces));
        // The text has the maximum length of one message.
        const bytes = spent(() => output.push("answer", text));
        assert.equal(output.full, true);
        assert.ok(bytes < 80_000, `${bytes} bytes encoded`);
      });
    }

    it("does not begin again from the start of the text at a newline after many spaces", () => {
      const stream = new TextStream(pieces);
      stream.push(`\n${" ".repeat(400_000)}`);
      const before = stream.total();
      const bytes = spent(() => {
        for (let i = 0; i < 100; i++) {
          const mark = stream.mark();
          stream.push(`\n${"q~".repeat(i)}`);
          stream.total();
          stream.rewind(mark);
        }
        assert.equal(stream.total(), before);
      });
      assert.ok(bytes < 100 * 4_000, `${bytes} bytes encoded`);
    });
  });
}
