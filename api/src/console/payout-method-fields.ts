/**
 * The fields of a payout method (bank account or PayPal). Check digits reveal a mistyped number before money is sent.
 */
import { z } from "zod";
import { PAYOUT_METHODS, type PayoutMethodKind } from "../enumerations.ts";
import { isPlainText, PLAIN_TEXT_RULE } from "../plain-text.ts";

const HOLDER_CHARS_MAX = 100;
const NUMBER_CHARS_MAX = 254;

interface Rule {
  holds: (text: string) => boolean;
  rule: string;
}

const IBAN: Rule = {
  holds: isIban,
  rule: "must be an IBAN such as DE89370400440532013000, with valid check digits",
};
const BIC: Rule = {
  holds: (text) => /^[A-Z]{6}[A-Z0-9]{2}([A-Z0-9]{3})?$/.test(text),
  rule: "must be a BIC of 8 or 11 characters (A to Z, 0 to 9), such as COBADEFFXXX",
};
const ACCOUNT_NUMBER: Rule = { holds: (text) => /^\d{4,17}$/.test(text), rule: "must have 4 to 17 digits" };
const ROUTING_NUMBER: Rule = {
  holds: isRoutingNumber,
  rule: "must be a routing number of nine digits such as 021000021, with a valid check digit",
};
const PAYPAL: Rule = { holds: isEmail, rule: "must be the email address of a PayPal account" };
const NONE: Rule = { holds: (text) => text === "", rule: "must be absent for this kind of payout method" };

/** `needsCode`: whether the bank code is required. */
const RULES: Record<PayoutMethodKind, { number: Rule; code: Rule; needsCode: boolean }> = {
  iban: { number: IBAN, code: BIC, needsCode: false },
  us_bank: { number: ACCOUNT_NUMBER, code: ROUTING_NUMBER, needsCode: true },
  paypal: { number: PAYPAL, code: NONE, needsCode: false },
};

/** Removes the spaces and dashes that people write between groups of digits. */
export function removeSeparators(kind: PayoutMethodKind, text: string): string {
  return kind === "paypal" ? text.trim() : text.replace(/[\s-]/g, "").toUpperCase();
}

const Text = (max: number) =>
  z.string("must be a string").max(max, `must have at most ${max} characters`).refine(isPlainText, PLAIN_TEXT_RULE);

export const PayoutMethodFields = z
  .object({
    kind: z.enum(PAYOUT_METHODS, `must be one of ${PAYOUT_METHODS.join(", ")}`),
    holder: Text(HOLDER_CHARS_MAX).refine(
      (text) => text.trim() !== "",
      "must be the name on the bank or PayPal account",
    ),
    number: Text(NUMBER_CHARS_MAX),
    bank_code: Text(NUMBER_CHARS_MAX).nullish(),
  })
  .superRefine(({ kind, number, bank_code }, context) => {
    const { number: ofNumber, code, needsCode } = RULES[kind];
    const refuse = (field: string, message: string): void =>
      context.addIssue({ code: "custom", path: [field], message });
    if (!ofNumber.holds(removeSeparators(kind, number))) refuse("number", ofNumber.rule);
    const written = removeSeparators(kind, bank_code ?? "");
    if (written === "" ? needsCode : !code.holds(written)) refuse("bank_code", code.rule);
  });

/**
 * An IBAN is a country code, two check digits and at most 30 characters. The check moves the first four characters to
 * the end and replaces letters by 10 to 35. The resulting number modulo 97 must be 1.
 */
function isIban(text: string): boolean {
  if (!/^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/.test(text)) return false;
  const digits = `${text.slice(4)}${text.slice(0, 4)}`.replace(/[A-Z]/g, (letter) =>
    String(Number.parseInt(letter, 36)),
  );
  return BigInt(digits) % 97n === 1n;
}

/** A US routing number has nine digits. Their sum, weighted 3, 7 and 1 in turn, is a multiple of ten. */
function isRoutingNumber(text: string): boolean {
  if (!/^\d{9}$/.test(text)) return false;
  const sum = [...text].reduce((so, digit, i) => so + Number(digit) * ([3, 7, 1][i % 3] ?? 0), 0);
  return sum > 0 && sum % 10 === 0;
}

function isEmail(text: string): boolean {
  return z.email().safeParse(text).success;
}
