import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import {
  computeTokenCost,
  decimalsNeeded,
  formatColumnDollars,
  formatExactDollars,
  formatShortDollars,
  parseMicro,
  sumMicro,
  toPico,
  toWholeMicro,
} from "./dollar-amounts.ts";

describe("amounts of the API", () => {
  test("parse exactly", () => {
    assert.equal(parseMicro("9830.400000"), 9_830_400_000n);
    assert.equal(parseMicro("5000000"), 5_000_000_000_000n);
    assert.equal(parseMicro("-0.000001"), -1n);
    for (const text of ["", "1e3", "1.", ".5", "1.0000001", "NaN", "1,000"])
      assert.throws(() => parseMicro(text), text);
  });

  test("keep all digits at any size", () => {
    const digits = fc.bigInt({ min: 0n, max: 10n ** 24n });
    fc.assert(
      fc.property(digits, fc.constantFrom("", "-"), (pico, minus) => {
        const text = String(pico).padStart(7, "0");
        assert.equal(parseMicro(`${minus}${text.slice(0, -6)}.${text.slice(-6)}`), BigInt(`${minus}${pico}`));
      }),
    );
  });

  test("are sent in whole microdollars", () => {
    assert.equal(toWholeMicro(12_500_000_000_000n), "12500000");
  });

  test("add up without floating point", () => {
    assert.equal(sumMicro(["0.100000", "0.200000"]), 300_000n);
    assert.equal(sumMicro(Array(10).fill("900719925474099.100000")), 9_007_199_254_740_991_000_000n);
  });
});

describe("displayed amounts", () => {
  test("show every digit, and at least two decimals, in the exact format", () => {
    const cases: [bigint, string][] = [
      [0n, "$0.00"],
      [5_000_000_000_000n, "$5.00"],
      [4_320_000n, "$0.00000432"],
      [1n, "$0.000000000001"],
      [-1_234_567_500_000_000_000n, "−$1,234,567.50"],
    ];
    for (const [pico, text] of cases) assert.equal(formatExactDollars(pico), text);
  });

  test("are rounded in the short format: balances down, charges up", () => {
    assert.equal(formatShortDollars(4_999_999_999_999n, "down"), "$4.99");
    assert.equal(formatShortDollars(4_990_000_000_001n, "up"), "$5.00");
    assert.equal(formatShortDollars(12_345_600_000n, "down"), "$0.0123");
    assert.equal(formatShortDollars(4_321_000n, "up"), "$0.00000433");
    assert.equal(formatShortDollars(999_999_999_999n, "up"), "$1.00");
    assert.equal(formatShortDollars(-4_999_999_999_999n, "down"), "−$5.00");
    assert.equal(formatShortDollars(0n, "up"), "$0.00");
    assert.equal(formatShortDollars(1_900_000n, "up"), "$0.00000190");
    assert.equal(formatShortDollars(1_000_000_000n, "down"), "$0.00100");
    assert.equal(formatShortDollars(500_000_000_000n, "down"), "$0.50");
    assert.equal(formatShortDollars(7n, "down"), "$0.000000000007");
  });

  test("can be computed from the API's text or from picodollars", () => {
    assert.deepEqual([toPico("1.500000"), toPico(7n)], [1_500_000n, 7n]);
  });

  test("are exact products of a token count and a price", () => {
    // The model reason-32b with its whole context as output costs 9,830.4 microdollars.
    assert.equal(computeTokenCost(32_768, 300_000), parseMicro("9830.400000"));
  });
});

describe("amounts in a column", () => {
  const column = (amounts: bigint[]): string[] => {
    const places = decimalsNeeded(amounts);
    return amounts.map((pico) => formatColumnDollars(pico, places));
  };
  /** Parses the displayed text, as a reader would when adding the amounts by hand. */
  const read = (text: string): bigint => {
    const digits = text.replaceAll(/[$,.]/g, "").replace("\u2212", "-");
    const places = text.length - text.indexOf(".") - 1;
    return BigInt(digits) * 10n ** BigInt(12 - places);
  };
  const amounts = fc.array(fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n }), { minLength: 1 });

  test("have equal decimals: two, or as many as the most precise amount needs", () => {
    assert.deepEqual(column([5_000_000_000_000n, 500_000_000_000n, 0n]), ["$5.00", "$0.50", "$0.00"]);
    assert.deepEqual(column([4_320_000n, 5_000_000_000_000n, -1_200_000n]), [
      "$0.00000432",
      "$5.00000000",
      "\u2212$0.00000120",
    ]);
    assert.deepEqual(column([1n]), ["$0.000000000001"]);
    assert.equal(decimalsNeeded([]), 2);
  });

  test("align at the decimal point at any size, and show only zero as zero", () => {
    fc.assert(
      fc.property(amounts, (all) => {
        const texts = column(all);
        assert.equal(new Set(texts.map((text) => text.length - text.indexOf("."))).size, 1);
        for (const [i, pico] of all.entries()) assert.equal(pico === 0n, !/[1-9]/.test(texts[i] ?? ""));
      }),
    );
  });

  test("add up to the displayed sum", () => {
    fc.assert(
      fc.property(amounts, (all) => {
        const sum = all.reduce((so, pico) => so + pico, 0n);
        const shown = column(all).reduce((so, text) => so + read(text), 0n);
        assert.equal(shown, read(formatExactDollars(sum)));
        assert.equal(shown, read(formatColumnDollars(sum, decimalsNeeded(all))));
      }),
    );
  });

  test("show even the smallest charge as a change of the balance", () => {
    const charge = fc.bigInt({ min: 1n, max: 10n ** 13n });
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 16n }), charge, (before, pico) => {
        assert.notEqual(formatExactDollars(before - pico), formatExactDollars(before));
      }),
    );
    assert.equal(formatExactDollars(5_000_000_000_000n - 1_200_000n), "$4.9999988");
  });
});
