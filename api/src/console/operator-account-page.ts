/** What an operator reads of one account: what it did, its statement, what it was paid. */
import { z } from "zod";
import { codes, refusal } from "../faults.ts";
import { PageQuery } from "../lists.ts";
import { routes } from "../route.ts";
import { PAYOUT_STATES, TRANSFER_KINDS } from "../states.ts";
import { AccountKind, Count, Id, listOf, Money, SAMPLE_TIME, sampleId, sampleList, Time } from "../values.ts";
import { ACCOUNT_PATH, NO_ACCOUNT } from "./operator-keys.ts";
import { COUNTS } from "./operator-performance.ts";

const RANGES = ["24h", "7d", "30d", "90d"] as const;

const AMOUNT = { amount_micro: Money.describe("What a builder was charged, or a host earned.") };

const AccountActivity = z.strictObject({
  object: z.literal("account_activity"),
  kind: AccountKind,
  range: z.enum(RANGES),
  from: Time,
  to: Time.describe("When the slot of time ends that is running."),
  slot_s: Count.describe("How long a slot of time is."),
  total: z.strictObject({ ...COUNTS, ...AMOUNT }),
  series: z
    .array(z.strictObject({ at: Time.describe("When the slot of time begins."), ...COUNTS, ...AMOUNT }))
    .describe("Every slot of time, the oldest first."),
  models: z.array(z.strictObject({ model: z.string(), ...COUNTS, ...AMOUNT })).describe("The largest amounts first."),
});

const AccountStatementRow = z
  .strictObject({
    object: z.literal("account_statement_row"),
    kind: z.enum(["usage", ...TRANSFER_KINDS]),
    day: z
      .string()
      .nullable()
      .describe("Of usage: the UTC day, `2026-11-15`. Null of what else there is, here and below."),
    requests: Count.nullable(),
    amount_micro: Money.describe("What came in, or with a minus what went out."),
    balance_micro: Money.describe("With this row and everything older."),
    reason: z.string().nullable(),
    at: Time.nullable().describe("Of what is no usage: when it was."),
  })
  .describe("The usage of one day, or one transfer.");
const AccountStatement = listOf(AccountStatementRow);

const AccountPayout = z.strictObject({
  object: z.literal("account_payout"),
  payout: Id("pay").describe("The batch."),
  note: z.string(),
  state: z.enum(PAYOUT_STATES),
  amount_micro: Money,
  held_back_micro: Money,
  set_off_micro: Money,
  created_at: Time,
  paid_at: Time.nullable(),
});
const AccountPayouts = listOf(AccountPayout, {
  balance: z
    .strictObject({
      pending_micro: Money.describe("What is still owed."),
      held_back_micro: Money.describe("What of it is too young to be paid out."),
      paid_out_micro: Money.describe("Everything that was ever paid out."),
      set_off_micro: Money.describe("What went to builder accounts of its owners that owed."),
    })
    .nullable()
    .describe("Null of a builder, who is paid nothing."),
});

export const answers = { AccountActivity, AccountStatementRow, AccountStatement, AccountPayout, AccountPayouts };

const sampleSums = { requests: 1204, failed: 8, error_share: 0.006_677, amount_micro: "5539.450000" };

export const accountPageRoutes = routes({
  getAccountActivity: {
    at: "GET /console/api/operator/accounts/{id}/activity",
    summary: "Read what an account did",
    description:
      "A builder's requests and what they were charged; of a host the requests that its nodes served and what they earned.",
    guard: "operator",
    path: ACCOUNT_PATH,
    query: z.object({ range: z.enum(RANGES, `must be one of ${RANGES.join(", ")}`).default("30d") }),
    words: { range: "How far back: in hours (`24h`, `7d`) or UTC days (`30d`, `90d`), the running one among them." },
    answer: {
      description: "Counts and amounts.",
      json: AccountActivity,
      example: {
        object: "account_activity",
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
    faults: [NO_ACCOUNT],
  },
  listAccountStatement: {
    at: "GET /console/api/operator/accounts/{id}/statement",
    summary: "Read a builder's statement",
    description: "One row for the usage of each day and one for each transfer, the newest first.",
    guard: "operator",
    path: ACCOUNT_PATH,
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
      NO_ACCOUNT,
      refusal("not_a_builder", "Only builder accounts have a statement."),
      ...codes("invalid_cursor"),
    ],
  },
  listAccountPayouts: {
    at: "GET /console/api/operator/accounts/{id}/payouts",
    summary: "List what a host was paid",
    description: "Its lines of payout batches, the newest first, and what it is owed.",
    guard: "operator",
    path: ACCOUNT_PATH,
    query: PageQuery,
    answer: {
      description: "A page of its payouts.",
      json: AccountPayouts,
      example: {
        ...sampleList({
          object: "account_payout",
          payout: sampleId("pay"),
          note: "November",
          state: "paid",
          amount_micro: "735000.000000",
          held_back_micro: "120000.000000",
          set_off_micro: "0.000000",
          created_at: SAMPLE_TIME,
          paid_at: SAMPLE_TIME,
        }),
        balance: {
          pending_micro: "120000.000000",
          held_back_micro: "120000.000000",
          paid_out_micro: "735000.000000",
          set_off_micro: "0.000000",
        },
      },
    },
    faults: [NO_ACCOUNT, ...codes("invalid_cursor")],
  },
});
