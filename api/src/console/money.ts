/** A builder's money: credits and holds, what was spent on what, the statement, and buying more. */
import { z } from "zod";
import { OPEN_CHECKOUTS_MAX } from "../bounds.ts";
import { codes, refusal } from "../faults.ts";
import { PageQuery, SpanFields } from "../lists.ts";
import { MicroField } from "../micro.ts";
import { routes } from "../route.ts";
import { BUILDER_ENTRY_KINDS } from "../states.ts";
import {
  Count,
  Id,
  IdField,
  listOf,
  Money,
  RequestOutcome,
  SAMPLE_TIME,
  sampleId,
  sampleList,
  Time,
} from "../values.ts";

/** What sums of usage are by. */
export const USAGE_BY = ["key", "model", "day", "hour", "outcome", "label"] as const;

export const UsageQuery = z.object({
  ...SpanFields,
  by: z.enum(USAGE_BY, `must be one of ${USAGE_BY.join(", ")}`).default("day"),
  split: z.enum(["key", "model"], "must be key or model").optional(),
  key: IdField("key", "must be a key's id (key_…)").optional(),
});
/** What one purchase can be of, in cents. */
export const PURCHASE = { from: 500, to: 500_000, whole: true };

export const CheckoutFields = z
  .object({ pack_id: z.string("must be a string").optional(), amount_micro: MicroField(PURCHASE).optional() })
  .refine(({ pack_id, amount_micro }) => pack_id !== undefined || amount_micro !== undefined, {
    path: ["pack_id"],
    message: "must name a pack on offer, unless amount_micro says how much is bought",
  })
  .refine(({ pack_id, amount_micro }) => pack_id === undefined || amount_micro === undefined, {
    path: ["amount_micro"],
    message: "must not be given beside pack_id",
  });

export const tooManyCheckouts = (waitS: number): string =>
  `${OPEN_CHECKOUTS_MAX} checkouts of the last hour are open. Pay one of them, or try again in ${waitS} seconds.`;

export const Balance = z.strictObject({
  object: z.literal("balance"),
  balance_micro: Money.describe("All the credit. Below zero where a refund or a dispute took more than was left."),
  held_micro: Money.describe("Reserved for requests under way."),
  available_micro: Money.describe("What a new request can reserve."),
});

const UsageRow = z
  .strictObject({
    key: Id("key").optional(),
    model: z.string().optional().describe("Empty for requests that were refused before it was known."),
    day: z.string().optional().describe("In UTC, such as `2026-11-15`."),
    hour: z.string().optional().describe("When it begins, such as `2026-11-15T06:00:00Z`."),
    outcome: RequestOutcome.optional(),
    label: z
      .string()
      .nullable()
      .optional()
      .describe("null: all the rest, requests without a label and labels beyond the 200 that cost most."),
    requests: Count,
    prompt_tokens: Count,
    completion_tokens: Count,
    charge_micro: Money,
  })
  .describe("One sum. Of the first six fields it has the one that `by` names, and the one that `split` names.");

const UsageList = listOf(UsageRow, { by: z.enum(USAGE_BY), from: Time, to: Time });

export const LedgerEntry = z.strictObject({
  object: z.literal("ledger_entry"),
  kind: z.enum(BUILDER_ENTRY_KINDS),
  amount_micro: Money.describe("Below zero where it left the account."),
  request_id: Id("req").nullable().describe("The request that was charged; else null."),
  transfer_id: Id("pay").nullable().describe("The transfer; else null."),
  month: z
    .string()
    .nullable()
    .describe(
      "Of a charge that stands for all requests of a month, whose records are kept no longer: which one, in UTC, such as `2026-03`. Else null.",
    ),
  reason: z.string().nullable().describe("Why a transfer was made."),
  at: Time,
});

const LedgerEntryList = listOf(LedgerEntry);

const Pack = z.strictObject({
  id: z.string(),
  object: z.literal("pack"),
  name: z.string(),
  currency: z.literal("usd"),
  price_micro: Money.describe("What it costs."),
  credit_micro: Money.describe("What it credits."),
});

const PackList = listOf(Pack);

const Checkout = z.strictObject({
  object: z.literal("checkout"),
  id: Id("pay"),
  url: z.string().describe("The payment provider's page: send the browser there."),
  pack_id: z.string().nullable().describe("Null where an amount was chosen."),
  amount_micro: Money,
});

export const answers = {
  Money,
  Balance,
  UsageRow,
  UsageList,
  LedgerEntry,
  LedgerEntryList,
  Pack,
  PackList,
  Checkout,
};

export const requests = {
  CheckoutRequest: {
    fields: CheckoutFields,
    words: { pack_id: "A pack on offer.", amount_micro: "In place of a pack: how much, in whole cents." },
  },
};

export const sampleBalance = {
  object: "balance",
  balance_micro: "5000000.000000",
  held_micro: "9830.400000",
  available_micro: "4990169.600000",
};

const samplePack = {
  id: "pack_20",
  object: "pack",
  name: "$20 of credits",
  currency: "usd",
  price_micro: "20000000.000000",
  credit_micro: "20000000.000000",
};

const sampleUsage = {
  day: "2026-11-15",
  requests: 1204,
  prompt_tokens: 88_102,
  completion_tokens: 41_377,
  charge_micro: "5539.450000",
};

export const moneyRoutes = routes({
  getBalance: {
    at: "GET /console/api/balance",
    summary: "Read the balance",
    guard: "builder",
    answer: { description: "The credit and what of it is held.", json: Balance, example: sampleBalance },
  },
  getUsage: {
    at: "GET /console/api/usage",
    summary: "Sum up what was spent",
    description:
      "Sums are of whole hours, by label of whole days in UTC. A span has at most 400 days, by the hour at most 31. By label, what cost most comes first; a request is counted a few seconds after it ended, and sums by label are not split further.",
    guard: "builder",
    query: UsageQuery,
    words: {
      by: "What each sum is of.",
      split: "What every sum is split by further.",
      key: "Only requests with this key, `key_…`.",
      from: "The sums' first hour: `2026-11-15`, `2026-11-15T06:30:00Z` or Unix seconds. By default the first of the month that `to` lies in.",
      to: "Where they end, written like `from`. By default now.",
    },
    answer: {
      description: "The sums, in the order of what they are of.",
      json: UsageList,
      example: { ...sampleList(sampleUsage), by: "day", from: SAMPLE_TIME, to: SAMPLE_TIME + 86_400 },
    },
  },
  listLedger: {
    at: "GET /console/api/ledger",
    summary: "List the entries of the books",
    description:
      "Every one of the account's, a charge for each request, the newest first. Of months whose requests are kept no longer there is one charge for all of them. By day: `GET /console/api/statement`.",
    guard: "builder",
    query: PageQuery,
    answer: {
      description: "A page of the entries.",
      json: LedgerEntryList,
      example: sampleList({
        object: "ledger_entry",
        kind: "charge",
        amount_micro: "-1.050000",
        request_id: sampleId("req"),
        transfer_id: null,
        month: null,
        reason: null,
        at: SAMPLE_TIME,
      }),
    },
    faults: codes("invalid_cursor"),
  },
});

/** Where nothing can be bought, every method of these is `billing_disabled`. */
export const creditRoutes = routes({
  listPacks: {
    at: "GET /console/api/packs",
    summary: "List the packs of credit on offer",
    guard: "signedIn",
    answer: { description: "The packs.", json: PackList, example: sampleList(samplePack) },
    faults: codes("billing_disabled"),
  },
  createCheckout: {
    at: "POST /console/api/credits/checkout",
    summary: "Buy credit",
    description:
      "A pack, or an amount of one's own. The credit comes when the payment provider says that it was paid, whatever the browser does meanwhile. An account has at most 10 open checkouts of the last hour.",
    guard: "buyer",
    needs: "pay",
    body: { fields: CheckoutFields, example: { pack_id: "pack_20" } },
    answer: {
      description: "Where to pay.",
      json: Checkout,
      example: {
        object: "checkout",
        id: sampleId("pay"),
        url: "https://checkout.stripe.com/c/pay/cs_…",
        pack_id: "pack_20",
        amount_micro: "20000000.000000",
      },
    },
    faults: [
      ...codes("billing_disabled", "unknown_pack", "payment_provider_unavailable"),
      refusal("rate_limit_requests", tooManyCheckouts(60)),
    ],
  },
});
