import assert from "node:assert/strict";
import { test } from "node:test";
import {
  alignRows,
  createPaint,
  measureTextWidth,
  padStart,
  sanitiseForTerminal,
  truncate,
} from "@tollgate/terminal/terminal-text.ts";
import fc from "fast-check";
import {
  formatCount,
  formatCounted,
  formatDollars,
  formatDuration,
  formatGibibytes,
  formatMilliseconds,
  formatPerSecond,
  sumMicro,
} from "./format-values.ts";

test("formats amounts of money exactly", () => {
  const amounts: [string, string][] = [
    ["0.000000", "$0.00"],
    ["123.450000", "$0.00012345"],
    ["9830.400000", "$0.0098304"],
    ["0.000001", "$0.000000000001"],
    ["1000000", "$1.00"],
    ["1234567890.500000", "$1,234.5678905"],
    ["-500000.000000", "-$0.50"],
  ];
  for (const [micro, shown] of amounts) assert.equal(formatDollars(micro), shown);
});

test("shows and sums amounts of any size without rounding", () => {
  const pico = fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n });
  fc.assert(
    fc.property(fc.array(pico, { maxLength: 5 }), (amounts) => {
      const total = sumMicro(amounts.map((amount) => sumMicro([microOf(amount)])));
      assert.equal(total, microOf(amounts.reduce((sum, amount) => sum + amount, 0n)));
      assert.equal(picoOfDollars(formatDollars(total)), picoOfMicro(total));
    }),
  );
});

function microOf(pico: bigint): string {
  const digits = String(pico < 0n ? -pico : pico).padStart(7, "0");
  return `${pico < 0n ? "-" : ""}${digits.slice(0, -6)}.${digits.slice(-6)}`;
}
const picoOfMicro = (micro: string): bigint => BigInt(micro.replace(".", ""));
function picoOfDollars(shown: string): bigint {
  const [whole = "", fraction = ""] = shown.replaceAll(/[$,]/g, "").split(".");
  return BigInt(whole + fraction.padEnd(12, "0"));
}

test("formats counts, shares, times, sizes and durations", () => {
  assert.deepEqual(
    [formatCount(1234567), formatCounted(1, "node"), formatCounted(0, "node")],
    ["1,234,567", "1 node", "0 nodes"],
  );
  assert.deepEqual([0.84, 84, 1500, 60_000].map(formatMilliseconds), ["0.8 ms", "84 ms", "1.5 s", "60 s"]);
  assert.deepEqual([4.25, 1500].map(formatPerSecond), ["4.3 tokens/s", "1,500 tokens/s"]);
  assert.deepEqual([16 * 1024 ** 3, 143771 * 1024 ** 2].map(formatGibibytes), ["16.0 GiB", "140 GiB"]);
  const spans = [59_000, 192_000, 7_500_000, 200_000_000].map(formatDuration);
  assert.deepEqual(spans, ["59 s", "3 min 12 s", "2 h 5 min", "2 d 7 h"]);
});

test("aligns columns without counting color codes", () => {
  const { good, dim } = createPaint(true);
  assert.equal(measureTextWidth(good("yes")), 3);
  assert.equal(padStart(good("7"), 3), `  ${good("7")}`);
  assert.deepEqual(
    alignRows(
      [
        ["a", good("10")],
        ["bb", dim("7")],
      ],
      ["left", "right"],
    ).map(plain),
    ["a   10", "bb   7"],
  );
  assert.equal(createPaint(false).bad("x"), "x");
});

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with the escape character
const plain = (text: string): string => text.replaceAll(/\x1b\[\d+m/g, "");

test("escapes terminal control sequences in text from elsewhere", () => {
  assert.equal(sanitiseForTerminal("a\u001b[2Jb\r\nc\u202ed"), "a [2Jb  c d");
  assert.equal(truncate("abcdef", 4), "abc…");
  assert.equal(truncate("abcd", 4), "abcd");
});
