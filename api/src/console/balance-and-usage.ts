/** A builder's money: credit, holds, spending, the statement, and purchases. */
import { z } from "zod";
import { OPEN_CHECKOUTS_MAX } from "../api-limits.ts";
import {
  AsOfField,
  Count,
  Id,
  IdField,
  Money,
  makeListSchema,
  makeSampleId,
  RequestOutcome,
  SAMPLE_TIME,
  sampleList,
  Time,
} from "../common-schemas.ts";
import { BUILDER_ENTRY_KINDS } from "../enumerations.ts";
import { refusal, refusalsOfCodes } from "../faults.ts";
import { PageQuery, TimeRangeFields } from "../list-query-fields.ts";
import { MicrodollarsField } from "../microdollars.ts";
import { declareRoutes } from "../route-declaration.ts";

/** The ways to group usage. */
export const USAGE_GROUPINGS = ["key", "model", "day", "hour", "outcome", "label"] as const;

export const UsageQuery = z.object({
  ...TimeRangeFields,
  by: z.enum(USAGE_GROUPINGS, `must be one of ${USAGE_GROUPINGS.join(", ")}`).default("day"),
  split: z.enum(["key", "model"], 'must be "key" or "model"').optional(),
  key: IdField("key", "must be a key ID (key_…)").optional(),
});
/** The limits of a single purchase, in cents. Only whole cents are allowed. */
export const PURCHASE_LIMITS = { from: 500, to: 500_000, whole: true };

export const CheckoutFields = z
  .object({
    pack_id: z.string("must be a string").optional(),
    amount_micro: MicrodollarsField(PURCHASE_LIMITS).optional(),
  })
  .refine(({ pack_id, amount_micro }) => pack_id !== undefined || amount_micro !== undefined, {
    path: ["pack_id"],
    message: 'must be the ID of a pack, unless "amount_micro" is given',
  })
  .refine(({ pack_id, amount_micro }) => pack_id === undefined || amount_micro === undefined, {
    path: ["amount_micro"],
    message: 'must not be combined with "pack_id"',
  });

export const describeCheckoutLimit = (waitS: number): string =>
  `Limit reached: ${OPEN_CHECKOUTS_MAX} checkouts of the last hour are still open. Pay one of them, or try again in ${waitS} seconds.`;

export const Balance = z.strictObject({
  object: z.literal("balance"),
  ...AsOfField,
  balance_micro: Money.describe("The total credit. Negative if a refund or dispute took more than was left."),
  held_micro: Money.describe("Held for requests in flight."),
  available_micro: Money.describe("Available for new requests."),
});

const UsageRow = z
  .strictObject({
    key: Id("key").optional(),
    key_name: z.string().nullable().optional().describe("Beside `key`: its name, also of a revoked key."),
    model: z.string().optional().describe("Empty for requests that were refused before the model was known."),
    day: z.string().optional().describe("The UTC day, such as `2026-11-15`."),
    hour: z.string().optional().describe("The start of the hour, such as `2026-11-15T06:00:00Z`."),
    outcome: RequestOutcome.optional(),
    label: z
      .string()
      .nullable()
      .optional()
      .describe("null: requests without a label, and labels beyond the 200 most expensive ones."),
    requests: Count,
    prompt_tokens: Count,
    completion_tokens: Count,
    charge_micro: Money,
  })
  .describe("One sum. Of the first six fields it has the one that `by` names and the one that `split` names.");

const UsageList = makeListSchema(UsageRow, { by: z.enum(USAGE_GROUPINGS), from: Time, to: Time });

export const LedgerEntry = z.strictObject({
  object: z.literal("ledger_entry"),
  kind: z.enum(BUILDER_ENTRY_KINDS),
  amount_micro: Money.describe("Negative if the amount left the account."),
  request_id: Id("req").nullable().describe("The request that was charged, or null."),
  transfer_id: Id("pay").nullable().describe("The transfer, or null."),
  month: z
    .string()
    .nullable()
    .describe(
      "For a charge that sums up all requests of a month whose records were deleted: the UTC month, such as `2026-03`. Else null.",
    ),
  reason: z.string().nullable().describe("The reason for the transfer."),
  at: Time,
});

const LedgerEntryList = makeListSchema(LedgerEntry);

const Pack = z.strictObject({
  id: z.string(),
  object: z.literal("pack"),
  name: z.string(),
  currency: z.literal("usd"),
  price_micro: Money.describe("The price to pay."),
  credit_micro: Money.describe("The credit that it adds."),
});

const PackList = makeListSchema(Pack);

const Checkout = z.strictObject({
  object: z.literal("checkout"),
  id: Id("pay"),
  url: z.string().describe("The payment provider's page. Redirect the browser there."),
  pack_id: z.string().nullable().describe("Null if an amount was chosen instead of a pack."),
  amount_micro: Money,
});

export const balanceAndUsageResponseSchemas = {
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

export const balanceAndUsageRequestSchemas = {
  CheckoutRequest: {
    fields: CheckoutFields,
    words: { pack_id: "The ID of a pack.", amount_micro: "Instead of a pack: the amount, in whole cents." },
  },
};

export const sampleBalance = {
  object: "balance",
  as_of: SAMPLE_TIME,
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

export const balanceAndUsageRoutes = declareRoutes({
  getBalance: {
    at: "GET /console/api/balance",
    summary: "Get the balance",
    guard: "builder",
    answer: { description: "The balance and how much of it is held.", json: Balance, example: sampleBalance },
  },
  getUsage: {
    at: "GET /console/api/usage",
    summary: "Sum usage",
    description:
      "Sums cover whole hours, or whole UTC days with `by=label`. The time range is at most 400 days, with `by=hour` at most 31. With `by=label` the most expensive labels come first and `split` is not allowed. Requests are counted a few seconds after they end.",
    guard: "builder",
    query: UsageQuery,
    words: {
      by: "How the sums are grouped.",
      split: "A second grouping within each sum.",
      key: "Only requests with this key, `key_…`.",
      from: "Start of the range, rounded down to the hour: `2026-11-15`, `2026-11-15T06:30:00Z` or Unix seconds. Default: the first day of the month of `to`.",
      to: "End of the range, in the same formats as `from`. Default: now.",
    },
    answer: {
      description: "One sum per group, in the order of `by`.",
      json: UsageList,
      example: { ...sampleList(sampleUsage), by: "day", from: SAMPLE_TIME, to: SAMPLE_TIME + 86_400 },
    },
  },
  listLedger: {
    at: "GET /console/api/ledger",
    summary: "List ledger entries",
    description:
      "All entries of the account, with one charge per request, newest first. A month whose requests were deleted has one charge for all of them. For daily rows, see `GET /console/api/statement`.",
    guard: "builder",
    query: PageQuery,
    answer: {
      description: "A page of entries.",
      json: LedgerEntryList,
      example: sampleList({
        object: "ledger_entry",
        kind: "charge",
        amount_micro: "-1.050000",
        request_id: makeSampleId("req"),
        transfer_id: null,
        month: null,
        reason: null,
        at: SAMPLE_TIME,
      }),
    },
    faults: refusalsOfCodes("invalid_cursor"),
  },
});

/** If payments are not configured, all of these routes return `billing_disabled`. */
export const creditRoutes = declareRoutes({
  listPacks: {
    at: "GET /console/api/packs",
    summary: "List credit packs",
    guard: "signedIn",
    answer: { description: "The packs.", json: PackList, example: sampleList(samplePack) },
    faults: refusalsOfCodes("billing_disabled"),
  },
  createCheckout: {
    at: "POST /console/api/credits/checkout",
    summary: "Buy credit",
    description:
      "Buys a pack or an amount of your choice. The credit is added when the payment provider confirms the payment, even if the browser was closed. An account can have at most 10 open checkouts of the last hour.",
    guard: "buyer",
    needs: "pay",
    body: { fields: CheckoutFields, example: { pack_id: "pack_20" } },
    answer: {
      description: "The checkout page.",
      json: Checkout,
      example: {
        object: "checkout",
        id: makeSampleId("pay"),
        url: "https://checkout.stripe.com/c/pay/cs_…",
        pack_id: "pack_20",
        amount_micro: "20000000.000000",
      },
    },
    faults: [
      ...refusalsOfCodes("billing_disabled", "unknown_pack", "payment_provider_unavailable"),
      refusal("rate_limit_requests", describeCheckoutLimit(60)),
    ],
  },
});
