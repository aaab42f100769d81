/**
 * Credit management: how long the credit lasts, the low-credit alert, automatic top-up with a saved card, payments, and
 * a daily statement.
 */
import { z } from "zod";
import { TOP_UP_INTERVAL_MIN_S } from "../api-limits.ts";
import {
  AsOfField,
  Count,
  Id,
  Money,
  makeListSchema,
  makeSampleId,
  SAMPLE_TIME,
  sampleList,
  Time,
} from "../common-schemas.ts";
import { PAYMENT_KINDS, PAYMENT_STATES, TOP_UP_FAILURES, TRANSFER_KINDS } from "../enumerations.ts";
import { refusal, refusalsOfCodes } from "../faults.ts";
import { PageQuery } from "../list-query-fields.ts";
import { MicrodollarsField, parseMicroToPico } from "../microdollars.ts";
import { declareRoutes } from "../route-declaration.ts";
import { describeCheckoutLimit, PURCHASE_LIMITS } from "./balance-and-usage.ts";

const MARK = { from: 1, to: 100_000_000 };

export const CreditAlertFields = z.object({ mark_micro: MicrodollarsField(MARK).optional() });

export const TopUpFields = z
  .object({
    enabled: z.boolean("must be true or false"),
    amount_micro: MicrodollarsField(PURCHASE_LIMITS),
    mark_micro: MicrodollarsField(MARK),
    month_max_micro: MicrodollarsField({ from: PURCHASE_LIMITS.from, to: 100_000_000 }),
  })
  .refine(
    ({ amount_micro, month_max_micro }) =>
      (parseMicroToPico(month_max_micro) ?? 0n) >= (parseMicroToPico(amount_micro) ?? 0n),
    { path: ["month_max_micro"], message: 'must be at least "amount_micro"' },
  );

const Spending = z
  .strictObject({
    last_day_micro: Money.describe("Spent in the last 24 full hours plus the current hour."),
    last_week_micro: Money.describe("Spent in the last seven days."),
    per_day_micro: Money.describe("Average daily spending over the seven days, or the last day's if that is higher."),
    lasts_s: z
      .int()
      .min(0)
      .nullable()
      .describe("How many seconds the balance lasts at that rate, at most ten years. Null if nothing was spent."),
  })
  .describe("Recent spending and how long the balance lasts.");

const Alert = z
  .strictObject({
    mark_micro: Money.nullable().describe(
      "Owners get an email when the balance drops below this amount. Null: no alert.",
    ),
    is_below: z
      .boolean()
      .describe("Whether the balance is below the threshold. The alert resets when the balance recovers."),
  })
  .describe("The low-balance alert.");

const TopUp = z
  .strictObject({
    enabled: z.boolean(),
    amount_micro: Money.describe("Amount of each automatic purchase."),
    mark_micro: Money.describe("A purchase is made when the balance is below this amount."),
    month_max_micro: Money.describe("Maximum amount of automatic purchases per calendar month (UTC)."),
    month_spent_micro: Money.describe("Amount bought automatically this month, pending purchases included."),
    failure: z.enum(TOP_UP_FAILURES).nullable().describe("Why automatic top-up was turned off; null if it was not."),
    failed_at: Time.nullable(),
  })
  .describe("Automatic top-up.");

const PaymentMethod = z.strictObject({
  object: z.literal("payment_method"),
  brand: z.string().describe("The card's brand, such as `visa`, or the kind of payment method."),
  last4: z.string().nullable().describe("The last four digits of the card number; null if it has none."),
});

export const Credits = z.strictObject({
  object: z.literal("credits"),
  ...AsOfField,
  can_buy: z.boolean().describe("Whether credits can be bought on this deployment."),
  can_mail: z.boolean().describe("Whether this deployment can send email."),
  spending: Spending,
  alert: Alert,
  top_up: TopUp.nullable().describe("Null if it was never configured."),
  method: PaymentMethod.nullable().describe("The saved card for automatic purchases."),
});

const SetupPage = z.strictObject({
  object: z.literal("setup_page"),
  url: z.string().describe("The payment provider's page. Redirect the browser there."),
});

export const Payment = z.strictObject({
  object: z.literal("payment"),
  kind: z.enum(PAYMENT_KINDS).describe("`automatic`: a purchase made by automatic top-up."),
  state: z
    .enum(PAYMENT_STATES)
    .describe(
      "The state of the purchase, refund or dispute. `mismatch`: the payment does not match the checkout; an operator reviews it.",
    ),
  amount_micro: Money,
  purchase_id: Id("pay").describe("The purchase, or the purchase that was refunded or disputed."),
  provider_id: z
    .string()
    .nullable()
    .describe("The payment provider's ID of the refund or dispute; null for a purchase."),
  pack_id: z.string().nullable().describe("Null if no pack was bought."),
  has_receipt: z.boolean().describe("Whether a receipt can be requested."),
  at: Time,
});
const PaymentList = makeListSchema(Payment);

const PaymentReceipt = z.strictObject({
  object: z.literal("payment_receipt"),
  receipt_url: z
    .string()
    .nullable()
    .describe("The provider's receipt page; null if there is none or nothing was paid."),
  invoice_url: z.string().nullable().describe("A printable invoice, if the provider made one."),
});

export const StatementRow = z.strictObject({
  object: z.literal("statement_row"),
  kind: z.enum(["usage", ...TRANSFER_KINDS]),
  day: z.string().nullable().describe("For usage: the UTC day, such as `2026-11-15`. Null for a transfer."),
  requests: Count.nullable().describe("Requests made on that day; null for a transfer."),
  prompt_tokens: Count.nullable(),
  completion_tokens: Count.nullable(),
  amount_micro: Money.describe("Negative if the amount left the account."),
  balance_micro: Money.describe("The balance after this row."),
  transfer_id: Id("pay").nullable(),
  reason: z.string().nullable().describe("The reason for the transfer."),
  at: Time.nullable().describe("The time of the transfer; null for usage."),
});
const StatementRowList = makeListSchema(StatementRow);

export const creditResponseSchemas = {
  Credits,
  PaymentMethod,
  SetupPage,
  Payment,
  PaymentList,
  PaymentReceipt,
  StatementRow,
  StatementRowList,
};

export const creditRequestSchemas = {
  AlertRequest: {
    fields: CreditAlertFields,
    words: { mark_micro: "Owners get an email when the balance drops below this amount. Absent or null: no alert." },
  },
  TopUpRequest: {
    fields: TopUpFields,
    words: {
      enabled: "`false` stops automatic purchases and keeps the other settings.",
      amount_micro: "Amount of each purchase, in whole cents.",
      mark_micro: "A purchase is made when the balance is below this amount.",
      month_max_micro: "Maximum amount of automatic purchases per calendar month.",
    },
  },
};

const sampleCredits = {
  object: "credits",
  as_of: SAMPLE_TIME,
  can_buy: true,
  can_mail: true,
  spending: {
    last_day_micro: "401250.000000",
    last_week_micro: "2120400.000000",
    per_day_micro: "401250.000000",
    lasts_s: 1_074_000,
  },
  alert: { mark_micro: "2000000.000000", is_below: false },
  top_up: {
    enabled: true,
    amount_micro: "20000000.000000",
    mark_micro: "5000000.000000",
    month_max_micro: "100000000.000000",
    month_spent_micro: "20000000.000000",
    failure: null,
    failed_at: null,
  },
  method: { object: "payment_method", brand: "visa", last4: "4242" },
};

const STATEMENT_COLUMNS =
  "kind,day,at,requests,prompt_tokens,completion_tokens,amount_micro,balance_micro,transfer_id,reason";

/** These routes work even if payments are not configured. */
export const statementRoutes = declareRoutes({
  getCredits: {
    at: "GET /console/api/credits",
    summary: "Get spending, alert and top-up settings",
    guard: "builder",
    answer: {
      description: "Spending, the low-balance alert, automatic top-up and the saved card.",
      json: Credits,
      example: sampleCredits,
    },
  },
  setAlert: {
    at: "PUT /console/api/credits/alert",
    summary: "Set the low-balance alert",
    description:
      "Owners get one email when the balance drops below the threshold. The alert resets when the balance recovers. If the balance is already below a new threshold, the first email is sent after it recovers and drops again.",
    guard: "builder",
    needs: "pay",
    body: { fields: CreditAlertFields, example: { mark_micro: "2000000" } },
    answer: { description: "The same response as `GET /console/api/credits`.", json: Credits, example: sampleCredits },
  },
  listStatement: {
    at: "GET /console/api/statement",
    summary: "List the daily statement",
    description:
      "One row for each UTC day of usage and one for each transfer, newest first, each with the balance after it. A day's usage comes after the day's transfers. A request counts on the day it was made, even if it was settled later. `GET /console/api/requests?from&to` lists the requests of a day.",
    guard: "builder",
    query: PageQuery,
    answer: {
      description: "A page of the statement.",
      json: StatementRowList,
      example: sampleList({
        object: "statement_row",
        kind: "usage",
        day: "2026-11-15",
        requests: 1204,
        prompt_tokens: 88_102,
        completion_tokens: 41_377,
        amount_micro: "-5539.450000",
        balance_micro: "4994460.550000",
        transfer_id: null,
        reason: null,
        at: null,
      }),
    },
    faults: refusalsOfCodes("invalid_cursor"),
  },
  exportStatement: {
    at: "GET /console/api/statement.csv",
    summary: "Export the daily statement",
    guard: "builder",
    answer: {
      description: "The CSV file.",
      csv: {
        description: "A header line, then one comma-separated line per statement row.",
        example: `${STATEMENT_COLUMNS}\r\n`,
      },
      headers: ["content-disposition"],
    },
  },
});

/** The error for an unreachable payment provider, on all routes except the checkout. */
export const PAYMENT_PROVIDER_UNREACHABLE = {
  setup: "The payment provider did not respond. Nothing was saved. Try again later.",
  removal: "The payment provider did not respond, so the card was not removed. Try again later.",
  receipt: "The payment provider did not respond. Try again later.",
};
const away = (what: keyof typeof PAYMENT_PROVIDER_UNREACHABLE) =>
  refusal("payment_provider_unavailable", PAYMENT_PROVIDER_UNREACHABLE[what]);

/** If payments are not configured, all of these routes return `billing_disabled`. */
export const paymentRoutes = declareRoutes({
  setTopUp: {
    at: "PUT /console/api/credits/top-up",
    summary: "Configure automatic top-up",
    description: `Buys credit with the saved card when the balance is below the threshold, at most once in ${TOP_UP_INTERVAL_MIN_S / 60} minutes and up to the monthly maximum. A failed purchase turns automatic top-up off and sends the owners an email.`,
    guard: "buyer",
    needs: "pay",
    body: {
      fields: TopUpFields,
      example: { enabled: false, amount_micro: "20000000", mark_micro: "5000000", month_max_micro: "100000000" },
    },
    answer: { description: "The same response as `GET /console/api/credits`.", json: Credits, example: sampleCredits },
    faults: refusalsOfCodes("billing_disabled", "no_payment_method"),
  },
  openSetup: {
    at: "POST /console/api/credits/method",
    summary: "Save a card for automatic purchases",
    description:
      "The card is entered on the payment provider's page; the gateway never sees its number. It replaces a card saved before.",
    guard: "buyer",
    needs: "pay",
    answer: {
      description: "The page on which to save the card.",
      json: SetupPage,
      example: { object: "setup_page", url: "https://checkout.stripe.com/c/pay/cs_…" },
    },
    faults: [
      ...refusalsOfCodes("billing_disabled"),
      away("setup"),
      refusal("rate_limit_requests", describeCheckoutLimit(60)),
    ],
  },
  removeMethod: {
    at: "DELETE /console/api/credits/method",
    summary: "Remove the saved card",
    description: "Removes the card here and at the payment provider, and turns automatic top-up off.",
    guard: "buyer",
    needs: "pay",
    answer: { description: "The same response as `GET /console/api/credits`.", json: Credits, example: sampleCredits },
    faults: [...refusalsOfCodes("billing_disabled", "no_payment_method"), away("removal")],
  },
  listPayments: {
    at: "GET /console/api/payments",
    summary: "List payments",
    description: "Purchases, automatic purchases, refunds and disputes, newest first.",
    guard: "builder",
    query: PageQuery,
    answer: {
      description: "A page of payments.",
      json: PaymentList,
      example: sampleList({
        object: "payment",
        kind: "purchase",
        state: "paid",
        amount_micro: "20000000.000000",
        purchase_id: makeSampleId("pay"),
        provider_id: null,
        pack_id: "pack_20",
        has_receipt: true,
        at: SAMPLE_TIME,
      }),
    },
    faults: refusalsOfCodes("billing_disabled", "invalid_cursor"),
  },
  getPaymentReceipt: {
    at: "GET /console/api/payments/{id}/receipt",
    summary: "Get the receipt of a purchase",
    guard: "builder",
    path: { id: "The purchase ID, `pay_…`." },
    answer: {
      description: "The payment provider's pages for this purchase.",
      json: PaymentReceipt,
      example: { object: "payment_receipt", receipt_url: "https://pay.stripe.com/receipts/…", invoice_url: null },
    },
    faults: [
      refusal("not_found", "You have no purchase with this ID."),
      ...refusalsOfCodes("billing_disabled"),
      away("receipt"),
    ],
  },
});
