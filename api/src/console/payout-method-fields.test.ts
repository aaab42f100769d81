/** The fields of a payout method (bank account or PayPal). Mistakes are refused with the field and its rule. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { PayoutMethodFields, removeSeparators } from "./payout-method-fields.ts";

const IBAN = { kind: "iban", holder: "Henry Host", number: "DE89 3704 0044 0532 0130 00" };
const US_BANK = { kind: "us_bank", holder: "Henry Host", number: "000123456789", bank_code: "021000021" };
const PAYPAL = { kind: "paypal", holder: "Henry Host", number: "henry@example.com" };

const problems = (fields: object): string[] =>
  (PayoutMethodFields.safeParse(fields).error?.issues ?? []).map(({ path, message }) => `${path.join(".")} ${message}`);

describe("the fields of a payout method", () => {
  test("accept bank details as people write them, with or without spaces", () => {
    for (const fields of [
      IBAN,
      { ...IBAN, number: "de89370400440532013000", bank_code: "cobadeffxxx" },
      { ...IBAN, number: "GB82 WEST 1234 5698 7654 32" },
      { ...IBAN, number: "NO93 8601 1117 947" },
      { ...IBAN, number: "MT84MALT011000012345MTLCAST001S", bank_code: "" },
      US_BANK,
      PAYPAL,
      { ...PAYPAL, bank_code: null },
    ]) {
      assert.deepEqual(problems(fields), [], JSON.stringify(fields));
    }
    assert.equal(removeSeparators("iban", " de89-3704 0044"), "DE8937040044");
    assert.equal(removeSeparators("paypal", " Henry@example.com "), "Henry@example.com");
  });

  test("name the invalid field and its rule", () => {
    const refused: [object, RegExp][] = [
      [{ ...IBAN, kind: "cash" }, /^kind must be one of iban, us_bank, paypal$/],
      [{ ...IBAN, holder: "  " }, /^holder must be the name on the bank or PayPal account$/],
      [{ ...IBAN, holder: "x".repeat(101) }, /^holder must have at most 100 characters$/],
      [{ ...IBAN, holder: "two\nlines" }, /^holder must not contain control characters/],
      [{ ...IBAN, number: "DE89 3704 0044 0532 0130 01" }, /^number must be an IBAN/],
      [{ ...IBAN, number: "DE98 3704 0044 0532 0130 00" }, /^number must be an IBAN/],
      [{ ...IBAN, number: "" }, /^number must be an IBAN/],
      [{ ...IBAN, bank_code: "COBA" }, /^bank_code must be a BIC/],
      [{ ...US_BANK, number: "123" }, /^number must have 4 to 17 digits$/],
      [{ ...US_BANK, bank_code: "021000022" }, /^bank_code must be a routing number/],
      [{ ...US_BANK, bank_code: "000000000" }, /^bank_code must be a routing number/],
      [{ ...US_BANK, bank_code: undefined }, /^bank_code must be a routing number/],
      [{ ...PAYPAL, number: "henry" }, /^number must be the email address of a PayPal account$/],
      [{ ...PAYPAL, bank_code: "1" }, /^bank_code must be absent for this kind of payout method$/],
    ];
    for (const [fields, message] of refused) assert.match(problems(fields).join("\n"), message, JSON.stringify(fields));
  });

  test("detect every single mistyped digit of an IBAN", () => {
    const right = "DE89370400440532013000";
    for (let i = 2; i < right.length; i++) {
      for (const digit of "0123456789") {
        if (digit === right[i]) continue;
        const wrong = `${right.slice(0, i)}${digit}${right.slice(i + 1)}`;
        assert.equal(problems({ ...IBAN, number: wrong }).length, 1, wrong);
      }
    }
  });
});
