/** An account's activity, statement and payouts, for operators. */
import { z } from "zod";
import {
  AccountKind,
  AsOfField,
  Count,
  Money,
  makeListSchema,
  makeSampleId,
  SAMPLE_TIME,
  sampleList,
  Time,
} from "../common-schemas.ts";
import { TRANSFER_KINDS } from "../enumerations.ts";
import { refusal, refusalsOfCodes } from "../faults.ts";
import { PageQuery, RANGE_END_DESCRIPTION, TimeRangeFields } from "../list-query-fields.ts";
import { declareRoutes } from "../route-declaration.ts";
import { ACCOUNT_NOT_FOUND, ACCOUNT_PATH_PARAMETER } from "./operator-keys.ts";
import { REQUEST_COUNT_FIELDS } from "./operator-performance.ts";
import { HostPayout } from "./payouts.ts";

const RANGES = ["24h", "7d", "30d", "90d"] as const;

const AMOUNT = { amount_micro: Money.describe("Charged to the builder, or earned by the host.") };

const AccountActivity = z.strictObject({
  object: z.literal("account_activity"),
  ...AsOfField,
  kind: AccountKind,
  range: z.enum(RANGES),
  from: Time,
  to: Time.describe("The end of the current time slot."),
  slot_s: Count.describe("Length of a time slot, in seconds."),
  total: z.strictObject({ ...REQUEST_COUNT_FIELDS, ...AMOUNT }),
  series: z
    .array(z.strictObject({ at: Time.describe("The start of the time slot."), ...REQUEST_COUNT_FIELDS, ...AMOUNT }))
    .describe("Every time slot, oldest first."),
  models: z
    .array(z.strictObject({ model: z.string(), ...REQUEST_COUNT_FIELDS, ...AMOUNT }))
    .describe("Largest amounts first."),
});

const AccountStatementRow = z
  .strictObject({
    object: z.literal("account_statement_row"),
    kind: z.enum(["usage", ...TRANSFER_KINDS]),
    day: z.string().nullable().describe("For usage: the UTC day, such as `2026-11-15`. Null for a transfer."),
    requests: Count.nullable(),
    amount_micro: Money.describe("Negative if the amount left the account."),
    balance_micro: Money.describe("The balance after this row."),
    reason: z.string().nullable(),
    at: Time.nullable().describe("The time of the transfer; null for usage."),
  })
  .describe("One day's usage, or one transfer.");
const AccountStatement = makeListSchema(AccountStatementRow);

const AccountPayout = z.strictObject({
  ...HostPayout.shape,
  object: z.literal("account_payout"),
  note: z.string().describe("The operator's note on the payout batch."),
});
const AccountPayouts = makeListSchema(AccountPayout, {
  balance: z
    .strictObject({
      pending_micro: Money.describe("The amount still owed."),
      held_back_micro: Money.describe("The part of it that is too recent to be paid out."),
      paid_out_micro: Money.describe("The total of all payouts."),
      set_off_micro: Money.describe(
        "The total deducted from earnings to pay debts of the same owners' builder accounts.",
      ),
      withheld_micro: Money.describe("Withheld shares that were not released. No part of the other amounts."),
      own_micro: Money.describe("The part of all earnings from requests by the host's own owners."),
    })
    .nullable()
    .describe("Null for a builder account."),
});

export const operatorAccountPageResponseSchemas = {
  AccountActivity,
  AccountStatementRow,
  AccountStatement,
  AccountPayout,
  AccountPayouts,
};

const sampleSums = { requests: 1204, failed: 8, error_share: 0.006_677, amount_micro: "5539.450000" };

export const accountPageRoutes = declareRoutes({
  getAccountActivity: {
    at: "GET /console/api/operator/accounts/{id}/activity",
    summary: "Get an account's activity",
    description:
      "For a builder: its requests and charges. For a host: the requests that its nodes served and the earnings.",
    guard: "operator",
    path: ACCOUNT_PATH_PARAMETER,
    query: z.object({
      range: z.enum(RANGES, `must be one of ${RANGES.join(", ")}`).default("30d"),
      to: TimeRangeFields.to,
    }),
    words: {
      range: "The time range: hours for `24h` and `7d`, UTC days for `30d` and `90d`, the current one included.",
      to: RANGE_END_DESCRIPTION,
    },
    answer: {
      description: "Counts and amounts.",
      json: AccountActivity,
      example: {
        object: "account_activity",
        as_of: SAMPLE_TIME,
        kind: "builder",
        range: "24h",
        from: SAMPLE_TIME,
        to: SAMPLE_TIME + 86_400,
        slot_s: 3600,
        total: sampleSums,
        series: [{ at: SAMPLE_TIME, ...sampleSums }],
        models: [{ model: "small-8b", ...sampleSums }],
      },
    },
    faults: [ACCOUNT_NOT_FOUND],
  },
  listAccountStatement: {
    at: "GET /console/api/operator/accounts/{id}/statement",
    summary: "List a builder's statement",
    description: "One row for each day of usage and one for each transfer, newest first.",
    guard: "operator",
    path: ACCOUNT_PATH_PARAMETER,
    query: PageQuery,
    answer: {
      description: "A page of the statement.",
      json: AccountStatement,
      example: sampleList({
        object: "account_statement_row",
        kind: "usage",
        day: "2026-11-15",
        requests: 1204,
        amount_micro: "-5539.450000",
        balance_micro: "4994460.550000",
        reason: null,
        at: null,
      }),
    },
    faults: [
      ACCOUNT_NOT_FOUND,
      refusal("not_a_builder", "Only builder accounts have a statement."),
      ...refusalsOfCodes("invalid_cursor"),
    ],
  },
  listAccountPayouts: {
    at: "GET /console/api/operator/accounts/{id}/payouts",
    summary: "List a host's payouts",
    description: "The host's lines of payout batches, newest first, and its balance.",
    guard: "operator",
    path: ACCOUNT_PATH_PARAMETER,
    query: PageQuery,
    answer: {
      description: "A page of payouts.",
      json: AccountPayouts,
      example: {
        ...sampleList({
          object: "account_payout",
          payout: makeSampleId("pay"),
          note: "November",
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
        balance: {
          pending_micro: "120000.000000",
          held_back_micro: "120000.000000",
          paid_out_micro: "735000.000000",
          set_off_micro: "0.000000",
          withheld_micro: "0.000000",
          own_micro: "0.000000",
        },
      },
    },
    faults: [ACCOUNT_NOT_FOUND, ...refusalsOfCodes("invalid_cursor")],
  },
});
