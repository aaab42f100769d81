/**
 * A host's payouts: the bank account they are sent to, and the amounts paid. Operators pay them in batches
 * (operator-payouts.ts).
 */
import { z } from "zod";
import { Id, Money, makeListSchema, makeSampleId, SAMPLE_TIME, sampleList, Time } from "../common-schemas.ts";
import { PAYOUT_METHODS, PAYOUT_STATES } from "../enumerations.ts";
import { refusalsOfCodes } from "../faults.ts";
import { PageQuery } from "../list-query-fields.ts";
import { declareRoutes } from "../route-declaration.ts";
import { PayoutMethodFields } from "./payout-method-fields.ts";
import { SIGN_IN_REFUSALS } from "./sign-in.ts";
import { SecondFactorCodeFields } from "./sign-in-fields.ts";

const KIND_WORDS =
  "`iban`: a bank account with an IBAN. `us_bank`: a bank account in the United States. `paypal`: a PayPal account.";
const LABEL_WORDS = "Its kind and the end of its number, such as `IBAN DE… 3000`.";

const SetFields = PayoutMethodFields.safeExtend({ code: SecondFactorCodeFields.shape.code.nullish() });

const Method = z.strictObject({
  kind: z.enum(PAYOUT_METHODS).describe(KIND_WORDS),
  label: z.string().describe(LABEL_WORDS),
  holder: z.string().describe("The name on the account."),
  changed_at: Time,
  changed_by: z
    .string()
    .nullable()
    .describe("The email address of the person who set the method; null: that user was deleted."),
});
export const PayoutMethod = z.strictObject({
  object: z.literal("payout_method"),
  method: Method.nullable().describe("null: none is set, so operators do not know where to send a payout."),
});

export const HostPayout = z.strictObject({
  object: z.literal("payout"),
  payout: Id("pay").describe("The payout batch."),
  state: z.enum(PAYOUT_STATES).describe("`open`: it was computed, and the money is not sent yet. `paid`: it was sent."),
  amount_micro: Money,
  held_back_micro: Money.describe("Earnings left for a later payout, because they were younger than the hold-back."),
  set_off_micro: Money.describe("Deducted for debts of the owners' builder accounts (set-off)."),
  withheld_micro: Money.describe("Withheld shares that were not released at that time."),
  newly_withheld_micro: Money.describe("The part of `withheld_micro` that was withheld since the previous payout."),
  own_micro: Money.describe(
    "Of the earnings that became payable since the previous payout, the part from requests by the host's own owners.",
  ),
  created_at: Time,
  paid_at: Time.nullable(),
  paid_to: z
    .string()
    .nullable()
    .describe("The payout method when it was marked as paid, masked; null if it is open or there was none."),
});
const HostPayoutList = makeListSchema(HostPayout);

export const hostPayoutResponseSchemas = { PayoutMethod, HostPayout, HostPayoutList };

export const hostPayoutRequestSchemas = {
  PayoutMethodRequest: {
    fields: SetFields,
    words: {
      kind: KIND_WORDS,
      holder: "The name on the account.",
      number: "The IBAN, the account number (4 to 17 digits), or the email address of the PayPal account.",
      bank_code: "`iban`: the BIC, optional. `us_bank`: the routing number. Absent for `paypal`.",
      code: "Where the second factor is on: a code of the authenticator app or a backup code.",
    },
  },
};

export const PAYOUT_METHOD_CODE_RULE =
  "must be a code of your authenticator app or a backup code, because your second factor is on";

const sampleMethod = {
  object: "payout_method",
  method: {
    kind: "iban",
    label: "IBAN DE… 3000",
    holder: "Henry Host",
    changed_at: SAMPLE_TIME,
    changed_by: "henry@example.com",
  },
};

export const hostPayoutRoutes = declareRoutes({
  getPayoutMethod: {
    at: "GET /console/api/payout-method",
    summary: "Get the payout method",
    description: "Masked: only the operators who send the money see the whole number.",
    guard: "host",
    answer: { description: "The payout method.", json: PayoutMethod, example: sampleMethod },
  },
  setPayoutMethod: {
    at: "PUT /console/api/payout-method",
    summary: "Set the payout method",
    description:
      "Replaces the one before. Open payouts go to the new one too. Owners and billing contacts get an email, and the change is in the audit log. A session for scripts cannot do this.",
    guard: "host",
    needs: "pay",
    body: {
      fields: SetFields,
      example: { kind: "iban", holder: "Henry Host", number: "DE89 3704 0044 0532 0130 00" },
    },
    answer: { description: "The payout method, masked.", json: PayoutMethod, example: sampleMethod },
    faults: [...refusalsOfCodes("browser_required"), SIGN_IN_REFUSALS.wrong_code, SIGN_IN_REFUSALS.too_many_attempts],
  },
  removePayoutMethod: {
    at: "DELETE /console/api/payout-method",
    summary: "Remove the payout method",
    description: "Owners and billing contacts get an email, unless none was set. A session for scripts cannot do this.",
    guard: "host",
    needs: "pay",
    answer: {
      description: "There is no payout method now.",
      json: PayoutMethod,
      example: { object: "payout_method", method: null },
    },
    faults: refusalsOfCodes("browser_required"),
  },
  listHostPayouts: {
    at: "GET /console/api/payouts",
    summary: "List payouts",
    description: "The account's lines of payout batches, newest first.",
    guard: "host",
    query: PageQuery,
    answer: {
      description: "A page of payouts.",
      json: HostPayoutList,
      example: sampleList({
        object: "payout",
        payout: makeSampleId("pay"),
        state: "paid",
        amount_micro: "735000.000000",
        held_back_micro: "120000.000000",
        set_off_micro: "0.000000",
        withheld_micro: "0.000000",
        newly_withheld_micro: "0.000000",
        own_micro: "0.000000",
        created_at: SAMPLE_TIME,
        paid_at: SAMPLE_TIME,
        paid_to: "IBAN DE… 3000",
      }),
    },
    faults: refusalsOfCodes("invalid_cursor"),
  },
});
