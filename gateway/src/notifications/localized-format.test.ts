import assert from "node:assert/strict";
import { test } from "node:test";
import { parseMicroAsPico } from "../base/money.ts";
import { createLocalizedFormat, DEFAULT_FORMAT } from "./localized-format.ts";

test("writes amounts in whole cents, rounded down", () => {
  const shown = (micro: string): string => DEFAULT_FORMAT.dollars(parseMicroAsPico(micro));
  assert.deepEqual(["0", "500000", "4999999", "1234567890", "20000000"].map(shown), [
    "$0.00",
    "$0.50",
    "$4.99",
    "$1,234.56",
    "$20.00",
  ]);
  assert.equal(shown("-1234567"), "-$1.24");
});

test("writes amounts below a dollar with three significant digits, so that no payout seems to be zero", () => {
  const shown = (micro: string): string => DEFAULT_FORMAT.dollars(parseMicroAsPico(micro));
  assert.deepEqual(["1568.336", "15683", "999999", "1", "0.0004"].map(shown), [
    "$0.00156",
    "$0.0156",
    "$0.999",
    "$0.000001",
    "$0.0000000004",
  ]);
  const german = createLocalizedFormat({ locale: "de-DE", timeZone: null });
  assert.equal(german.dollars(parseMicroAsPico("1568.336")), "$0,00156");
});
