/** Operators' routes for payouts to hosts, which are paid in batches. */
import { z } from "zod";
import {
  AsOfField,
  Count,
  Id,
  Money,
  makeListSchema,
  makeSampleId,
  NextCursor,
  SAMPLE_TIME,
  sampleList,
  Time,
} from "../common-schemas.ts";
import { PAYOUT_METHODS, PAYOUT_STATES } from "../enumerations.ts";
import { refusal, refusalsOfCodes } from "../faults.ts";
import { PageQuery } from "../list-query-fields.ts";
import { isPlainText, PLAIN_TEXT_RULE } from "../plain-text.ts";
import { declareRoutes } from "../route-declaration.ts";

export const NewPayoutBatch = z.strictObject({
  note: z
    .string("must be a string")
    .max(200, "must have at most 200 characters")
    .refine(isPlainText, PLAIN_TEXT_RULE)
    .default(""),
  minimum_micro: z.union([z.string(), z.int()], "must be a whole number of microdollars").optional(),
});

export const Payout = z
  .strictObject({
    id: Id("pay"),
    object: z.literal("payout_batch"),
    state: z.enum(PAYOUT_STATES),
    note: z.string(),
    hosts: Count.describe("Number of hosts paid."),
    total_micro: Money.describe("Total amount paid."),
    held_back_micro: Money.describe("Earnings left out because they are younger than the payout hold-back."),
    set_off_micro: Money.describe("Deducted for debts of the owners' builder accounts (set-off)."),
    withheld_micro: Money.describe("Withheld from these hosts and not released when the batch was created."),
    created_at: Time,
    created_by: z.string(),
    paid_at: Time.nullable(),
    paid_by: z.string().nullable(),
  })
  .describe(
    "A payout batch: the amounts owed to hosts when it was created, without amounts in open batches and without held-back earnings. A batch that only sets off debts transfers no money and is marked paid immediately.",
  );

const PayoutLine = z.strictObject({
  payout: Id("pay"),
  account: Id("acc"),
  name: z.string(),
  owners: z.string().describe("Email addresses, separated by spaces."),
  amount_micro: Money.describe(
    "The amount to pay. Zero if everything was held back or set off, or the rest is below the minimum.",
  ),
  held_back_micro: Money,
  set_off_micro: Money,
  withheld_micro: Money,
  newly_withheld_micro: Money.describe("The part of `withheld_micro` that was withheld since the previous payout."),
  own_micro: Money.describe(
    "Of the earnings that became payable since the previous payout, the part from requests by the host's own owners.",
  ),
  method: z
    .strictObject({
      kind: z.enum(PAYOUT_METHODS).describe("`iban`, `us_bank`: a bank account. `paypal`: a PayPal account."),
      holder: z.string().describe("The name on the account."),
      number: z.string().describe("The IBAN, the account number, or the email address."),
      bank_code: z.string().nullable().describe("The BIC or the routing number."),
      changed_at: Time,
    })
    .nullable()
    .describe("Where the host wants the money now; null if it has set nothing."),
});

const PayoutList = makeListSchema(Payout);
const PayoutDetail = z.strictObject({
  ...Payout.shape,
  lines: z.array(PayoutLine),
  next_cursor: NextCursor,
  ...AsOfField,
});

export const operatorPayoutsResponseSchemas = { Payout, PayoutLine, PayoutList, PayoutDetail };

export const operatorPayoutsRequestSchemas = {
  CreatePayoutRequest: {
    fields: NewPayoutBatch,
    words: {
      note: "A note for operators.",
      minimum_micro: "Hosts that are owed less are left out of this batch. A whole number of microdollars.",
    },
  },
};

const samplePayout = {
  id: makeSampleId("pay"),
  object: "payout_batch",
  state: "open",
  note: "November",
  hosts: 1,
  total_micro: "735000.000000",
  held_back_micro: "120000.000000",
  set_off_micro: "0.000000",
  withheld_micro: "490000.000000",
  created_at: SAMPLE_TIME,
  created_by: "olga@example.com",
  paid_at: null,
  paid_by: null,
};
const sampleLine = {
  payout: makeSampleId("pay"),
  account: makeSampleId("acc"),
  name: "Workshop",
  owners: "henry@example.com",
  amount_micro: "735000.000000",
  held_back_micro: "120000.000000",
  set_off_micro: "0.000000",
  withheld_micro: "490000.000000",
  newly_withheld_micro: "70000.000000",
  own_micro: "0.000000",
};
const sampleMethod = {
  kind: "iban",
  holder: "Henry Host",
  number: "DE89370400440532013000",
  bank_code: "COBADEFFXXX",
  changed_at: SAMPLE_TIME,
};
/** In the exported CSV file, the payout method is split into separate columns. */
const sampleRow = {
  ...sampleLine,
  method: sampleMethod.kind,
  holder: sampleMethod.holder,
  number: sampleMethod.number,
  bank_code: sampleMethod.bank_code,
  method_changed_at: new Date(SAMPLE_TIME * 1000).toISOString(),
};

const PAYOUT_PATH = { id: "The batch ID, `pay_…`." };
const NO_PAYOUT = refusal("not_found", "No such payout batch.");

export const payoutRoutes = declareRoutes({
  listPayouts: {
    at: "GET /console/api/operator/payouts",
    summary: "List payout batches",
    description: "Newest first.",
    guard: "operator",
    query: PageQuery,
    answer: { description: "A page of batches.", json: PayoutList, example: sampleList(samplePayout) },
    faults: refusalsOfCodes("invalid_cursor"),
  },
  createPayout: {
    at: "POST /console/api/operator/payouts",
    summary: "Create a payout batch",
    description:
      "Debts of a host's owners on their builder accounts, after refunds or disputes, are deducted first. Earnings younger than the hold-back stay for a later batch.",
    guard: "operator",
    body: { fields: NewPayoutBatch, example: { note: "November", minimum_micro: "1000000" } },
    answer: { status: 201, description: "The batch.", json: Payout, example: samplePayout },
    faults: refusalsOfCodes("nothing_owed"),
  },
  getPayout: {
    at: "GET /console/api/operator/payouts/{id}",
    summary: "Get a payout batch with its lines",
    description: "Lines are sorted by host name and paginated.",
    guard: "operator",
    path: PAYOUT_PATH,
    query: PageQuery,
    answer: {
      description: "The batch and its lines.",
      json: PayoutDetail,
      example: {
        ...samplePayout,
        lines: [{ ...sampleLine, method: sampleMethod }],
        next_cursor: null,
        as_of: SAMPLE_TIME,
      },
    },
    faults: [NO_PAYOUT, ...refusalsOfCodes("invalid_cursor")],
  },
  exportPayout: {
    at: "GET /console/api/operator/payouts/{id}/csv",
    summary: "Export a payout batch",
    description: "A CSV file for the person who sends the money.",
    guard: "operator",
    path: PAYOUT_PATH,
    answer: {
      description: "The CSV file.",
      csv: {
        description: "A header line, then one comma-separated line per host that is paid.",
        example: `${Object.keys(sampleRow).join(",")}\r\n${Object.values(sampleRow).join(",")}\r\n`,
      },
      headers: ["content-disposition"],
    },
    faults: [NO_PAYOUT],
  },
  markPayoutPaid: {
    at: "POST /console/api/operator/payouts/{id}/paid",
    summary: "Mark a payout batch as paid",
    description: "Call this after the money was sent. Repeating the call has no effect.",
    guard: "operator",
    path: PAYOUT_PATH,
    answer: {
      description: "The batch.",
      json: Payout,
      example: { ...samplePayout, state: "paid", paid_at: SAMPLE_TIME, paid_by: "olga@example.com" },
    },
    faults: [NO_PAYOUT, ...refusalsOfCodes("payout_exceeds_balance")],
  },
});
