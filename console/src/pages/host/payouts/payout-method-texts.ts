/** The names of payout methods, and the fields that each kind needs. */
import type { NewPayoutMethod } from "../../../api/answer-types.ts";

type PayoutMethodKind = NewPayoutMethod["kind"];

interface Words {
  label: string;
  number: string;
  example: string;
  /** Undefined if this kind of method has no bank code. */
  bankCode?: { label: string; example: string; required: boolean };
}

export const PAYOUT_METHOD_TEXTS: Record<PayoutMethodKind, Words> = {
  iban: {
    label: "Bank account (IBAN)",
    number: "IBAN",
    example: "DE89 3704 0044 0532 0130 00",
    bankCode: { label: "BIC (optional)", example: "COBADEFFXXX", required: false },
  },
  us_bank: {
    label: "US bank account",
    number: "Account number",
    example: "000123456789",
    bankCode: { label: "Routing number", example: "021000021", required: true },
  },
  paypal: { label: "PayPal", number: "Email address of the PayPal account", example: "you@example.com" },
};

export const PAYOUT_METHOD_KINDS = Object.keys(PAYOUT_METHOD_TEXTS) as PayoutMethodKind[];
