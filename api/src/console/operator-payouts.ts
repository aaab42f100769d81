/** Payouts: what hosts are owed, in batches. */
import { z } from "zod";
import { codes, refusal } from "../faults.ts";
import { PageQuery } from "../lists.ts";
import { isPlain, PLAIN_RULE } from "../plain-text.ts";
import { routes } from "../route.ts";
import { PAYOUT_STATES } from "../states.ts";
import { Count, Id, listOf, Money, NextCursor, SAMPLE_TIME, sampleId, sampleList, Time } from "../values.ts";

export const NewBatch = z.object({
  note: z
    .string("must be a string")
    .max(200, "must have at most 200 characters")
    .refine(isPlain, PLAIN_RULE)
    .default(""),
  minimum_micro: z.union([z.string(), z.int()], "must be whole microdollars").optional(),
});

export const Payout = z
  .strictObject({
    id: Id("pay"),
    object: z.literal("payout_batch"),
    state: z.enum(PAYOUT_STATES),
    note: z.string(),
    hosts: Count.describe("How many hosts it pays."),
    total_micro: Money.describe("What it pays."),
    held_back_micro: Money.describe("What it left with hosts, because it is younger than the hold-back."),
    set_off_micro: Money.describe("What it took from hosts for what builder accounts of their owners owed."),
    created_at: Time,
    created_by: z.string(),
    paid_at: Time.nullable(),
    paid_by: z.string().nullable(),
  })
  .describe(
    "A batch: what hosts were owed when it was made, beyond what open batches promise and what is held back. One that only set debts off has nothing to send and is paid at once.",
  );

const PayoutLine = z.strictObject({
  payout: Id("pay"),
  account: Id("acc"),
  name: z.string(),
  owners: z.string().describe("E-mail addresses, separated by spaces."),
  amount_micro: Money.describe("What is paid. Zero where all was held back or set off, or is less than the minimum."),
  held_back_micro: Money,
  set_off_micro: Money,
});

const PayoutList = listOf(Payout);
const PayoutDetail = z.strictObject({ ...Payout.shape, lines: z.array(PayoutLine), next_cursor: NextCursor });

export const answers = { Payout, PayoutLine, PayoutList, PayoutDetail };

export const requests = {
  CreatePayoutRequest: {
    fields: NewBatch,
    words: {
      note: "For people.",
      minimum_micro: "Hosts who are owed less are left for another time. Whole microdollars.",
    },
  },
};

const samplePayout = {
  id: sampleId("pay"),
  object: "payout_batch",
  state: "open",
  note: "November",
  hosts: 1,
  total_micro: "735000.000000",
  held_back_micro: "120000.000000",
  set_off_micro: "0.000000",
  created_at: SAMPLE_TIME,
  created_by: "olga@example.com",
  paid_at: null,
  paid_by: null,
};
const sampleLine = {
  payout: sampleId("pay"),
  account: sampleId("acc"),
  name: "Workshop",
  owners: "henry@example.com",
  amount_micro: "735000.000000",
  held_back_micro: "120000.000000",
  set_off_micro: "0.000000",
};

const PAYOUT_PATH = { id: "The batch's id, `pay_…`." };
const NO_PAYOUT = refusal("not_found", "No such payout batch.");

export const payoutRoutes = routes({
  listPayouts: {
    at: "GET /console/api/operator/payouts",
    summary: "List the payouts",
    description: "The newest first.",
    guard: "operator",
    query: PageQuery,
    answer: { description: "A page of batches.", json: PayoutList, example: sampleList(samplePayout) },
    faults: codes("invalid_cursor"),
  },
  createPayout: {
    at: "POST /console/api/operator/payouts",
    summary: "Make a payout of what hosts are owed",
    description:
      "What a host's owners owe on their builder accounts after refunds or disputes is set off first. Earnings younger than the hold-back are left for another time.",
    guard: "operator",
    body: { fields: NewBatch, example: { note: "November", minimum_micro: "1000000" } },
    answer: { status: 201, description: "The batch.", json: Payout, example: samplePayout },
    faults: codes("nothing_owed"),
  },
  getPayout: {
    at: "GET /console/api/operator/payouts/{id}",
    summary: "Read a payout, host by host",
    description: "Lines are by the hosts' names, in pages.",
    guard: "operator",
    path: PAYOUT_PATH,
    query: PageQuery,
    answer: {
      description: "The batch and its lines.",
      json: PayoutDetail,
      example: { ...samplePayout, lines: [sampleLine], next_cursor: null },
    },
    faults: [NO_PAYOUT, ...codes("invalid_cursor")],
  },
  exportPayout: {
    at: "GET /console/api/operator/payouts/{id}/csv",
    summary: "Export a payout",
    description: "For whoever sends the money.",
    guard: "operator",
    path: PAYOUT_PATH,
    answer: {
      description: "The file.",
      csv: {
        description: "One line per host that is paid under a line of column names, separated by commas.",
        example: `${Object.keys(sampleLine).join(",")}\r\n${Object.values(sampleLine).join(",")}\r\n`,
      },
      headers: ["content-disposition"],
    },
    faults: [NO_PAYOUT],
  },
  markPayoutPaid: {
    at: "POST /console/api/operator/payouts/{id}/paid",
    summary: "Book a payout as paid",
    description: "Once the money was sent. Said twice it is booked once.",
    guard: "operator",
    path: PAYOUT_PATH,
    answer: {
      description: "The batch.",
      json: Payout,
      example: { ...samplePayout, state: "paid", paid_at: SAMPLE_TIME, paid_by: "olga@example.com" },
    },
    faults: [NO_PAYOUT, ...codes("payout_exceeds_balance")],
  },
});
