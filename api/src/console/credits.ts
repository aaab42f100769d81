/** Credit that is looked after: how long it lasts, the alert, automatic top-up with a saved card, payments, the statement by day. */
import { z } from "zod";
import { TOP_UP_APART_S } from "../bounds.ts";
import { codes, refusal } from "../faults.ts";
import { PageQuery } from "../lists.ts";
import { MicroField, picoOfMicro } from "../micro.ts";
import { routes } from "../route.ts";
import { PAYMENT_KINDS, PAYMENT_STATES, TOP_UP_FAILURES, TRANSFER_KINDS } from "../states.ts";
import { Count, Id, listOf, Money, SAMPLE_TIME, sampleId, sampleList, Time } from "../values.ts";
import { PURCHASE, tooManyCheckouts } from "./money.ts";

const MARK = { from: 1, to: 100_000_000 };

export const AlertFields = z.object({ mark_micro: MicroField(MARK).optional() });

export const TopUpFields = z
  .object({
    enabled: z.boolean("must be true or false"),
    amount_micro: MicroField(PURCHASE),
    mark_micro: MicroField(MARK),
    month_max_micro: MicroField({ from: PURCHASE.from, to: 100_000_000 }),
  })
  .refine(
    ({ amount_micro, month_max_micro }) => (picoOfMicro(month_max_micro) ?? 0n) >= (picoOfMicro(amount_micro) ?? 0n),
    { path: ["month_max_micro"], message: "must be at least amount_micro" },
  );

const Spending = z
  .strictObject({
    last_day_micro: Money.describe("Spent in the last 24 whole hours and the one under way."),
    last_week_micro: Money.describe("The same of seven days."),
    per_day_micro: Money.describe("The mean of the seven days, or the last day where that is more."),
    lasts_s: z
      .int()
      .min(0)
      .nullable()
      .describe("How long the balance lasts at that, in seconds, ten years at most. Null where nothing was spent."),
  })
  .describe("What is spent, and how long the credit lasts.");

const Alert = z
  .strictObject({
    mark_micro: Money.nullable().describe("The owners are written to when the balance falls below it. Null: never."),
    is_below: z.boolean().describe("Whether the balance is below it. At it or above, the alert is armed again."),
  })
  .describe("The low-credit alert.");

const TopUp = z
  .strictObject({
    enabled: z.boolean(),
    amount_micro: Money.describe("What is bought at a time."),
    mark_micro: Money.describe("It is bought when the balance is below it."),
    month_max_micro: Money.describe("What is bought by itself in a calendar month, in UTC, at most."),
    month_spent_micro: Money.describe("What was, this month. Purchases under way count."),
    failure: z.enum(TOP_UP_FAILURES).nullable().describe("Why it turned itself off; null where it did not."),
    failed_at: Time.nullable(),
  })
  .describe("Automatic top-up.");

const PaymentMethod = z.strictObject({
  object: z.literal("payment_method"),
  brand: z.string().describe("Such as `visa`; of what is no card, what it is."),
  last4: z.string().nullable().describe("The card number's last four digits; null where there are none."),
});

export const Credits = z.strictObject({
  object: z.literal("credits"),
  can_buy: z.boolean().describe("Whether credits can be bought on this deployment."),
  can_mail: z.boolean().describe("Whether letters leave this deployment."),
  spending: Spending,
  alert: Alert,
  top_up: TopUp.nullable().describe("Null where it was never set."),
  method: PaymentMethod.nullable().describe("The card that is saved for automatic purchases."),
});

const SetupPage = z.strictObject({
  object: z.literal("setup_page"),
  url: z.string().describe("The payment provider's page: send the browser there."),
});

export const Payment = z.strictObject({
  object: z.literal("payment"),
  kind: z.enum(PAYMENT_KINDS).describe("`automatic`: a purchase that was made by itself."),
  state: z.enum(PAYMENT_STATES).describe("Of a purchase, a refund or a dispute. `mismatch`: somebody looks at it."),
  amount_micro: Money,
  purchase_id: Id("pay").describe("The purchase: itself, or the one that was refunded or disputed."),
  provider_id: z.string().nullable().describe("The provider's own id of a refund or dispute; null of a purchase."),
  pack_id: z.string().nullable().describe("Null where no pack was bought."),
  has_receipt: z.boolean().describe("Whether it is worth asking for its receipt."),
  at: Time,
});
const PaymentList = listOf(Payment);

const PaymentReceipt = z.strictObject({
  object: z.literal("payment_receipt"),
  receipt_url: z.string().nullable().describe("The provider's page; null where it has none, or nothing was paid."),
  invoice_url: z.string().nullable().describe("An invoice to print, where the provider makes one."),
});

export const StatementRow = z.strictObject({
  object: z.literal("statement_row"),
  kind: z.enum(["usage", ...TRANSFER_KINDS]),
  day: z.string().nullable().describe("Of usage: the day in UTC, such as `2026-11-15`; null of a transfer."),
  requests: Count.nullable().describe("Made on that day; null of a transfer."),
  prompt_tokens: Count.nullable(),
  completion_tokens: Count.nullable(),
  amount_micro: Money.describe("Below zero where it left the account."),
  balance_micro: Money.describe("The balance with this row and all below it."),
  transfer_id: Id("pay").nullable(),
  reason: z.string().nullable().describe("Why a transfer was made."),
  at: Time.nullable().describe("When a transfer was made; null of usage."),
});
const StatementRowList = listOf(StatementRow);

export const answers = {
  Credits,
  PaymentMethod,
  SetupPage,
  Payment,
  PaymentList,
  PaymentReceipt,
  StatementRow,
  StatementRowList,
};

export const requests = {
  AlertRequest: {
    fields: AlertFields,
    words: { mark_micro: "The owners are written to when the balance falls below it. Without it, or null: never." },
  },
  TopUpRequest: {
    fields: TopUpFields,
    words: {
      enabled: "Off, nothing is bought by itself; the rest is kept.",
      amount_micro: "What is bought at a time, in whole cents.",
      mark_micro: "It is bought when the balance is below it.",
      month_max_micro: "What is bought by itself in a calendar month at most.",
    },
  },
};

const sampleCredits = {
  object: "credits",
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

/** These are there whether or not anything can be bought. */
export const statementRoutes = routes({
  getCredits: {
    at: "GET /console/api/credits",
    summary: "Read how long the credit lasts, and what looks after it",
    guard: "builder",
    answer: {
      description: "Spending, the alert, automatic top-up and the saved card.",
      json: Credits,
      example: sampleCredits,
    },
  },
  setAlert: {
    at: "PUT /console/api/credits/alert",
    summary: "Set the low-credit alert",
    description:
      "The account's owners are written to once for each fall of the balance below the mark. A mark that is above the balance when it is set tells of the next fall.",
    guard: "builder",
    needs: "pay",
    body: { fields: AlertFields, example: { mark_micro: "2000000" } },
    answer: { description: "As `GET /console/api/credits`.", json: Credits, example: sampleCredits },
  },
  listStatement: {
    at: "GET /console/api/statement",
    summary: "List the statement by day",
    description:
      "One row for each day of usage, in UTC, and one for each transfer, the newest first, each with the balance after it. A day's usage stands after the day's transfers; a request counts to the day it was made on, also where it was settled later. What a day is made of: `GET /console/api/requests?from&to`.",
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
    faults: codes("invalid_cursor"),
  },
  exportStatement: {
    at: "GET /console/api/statement.csv",
    summary: "Export the statement by day",
    guard: "builder",
    answer: {
      description: "The file.",
      csv: {
        description: "One line per row of the statement under a line of column names, separated by commas.",
        example: `${STATEMENT_COLUMNS}\r\n`,
      },
      headers: ["content-disposition"],
    },
  },
});

/** What a provider that is away means where no checkout was to be opened. */
export const AWAY = {
  setup: "The payment provider did not answer. Nothing was saved.",
  removal: "The payment provider did not answer. The card is still saved.",
  receipt: "The payment provider did not answer. Try again later.",
};
const away = (what: keyof typeof AWAY) => refusal("payment_provider_unavailable", AWAY[what]);

/** Where nothing can be bought, every method of these is `billing_disabled`. */
export const paymentRoutes = routes({
  setTopUp: {
    at: "PUT /console/api/credits/top-up",
    summary: "Set automatic top-up",
    description: `Credit is bought with the saved card when the balance is below the mark: one purchase in ${TOP_UP_APART_S / 60} minutes at most, and in a calendar month no more than its maximum. A purchase that fails turns it off, and the owners are written to.`,
    guard: "buyer",
    needs: "pay",
    body: {
      fields: TopUpFields,
      example: { enabled: false, amount_micro: "20000000", mark_micro: "5000000", month_max_micro: "100000000" },
    },
    answer: { description: "As `GET /console/api/credits`.", json: Credits, example: sampleCredits },
    faults: codes("billing_disabled", "no_payment_method"),
  },
  openSetup: {
    at: "POST /console/api/credits/method",
    summary: "Save a card for automatic purchases",
    description:
      "It is saved on the payment provider's page; its number never comes here. One that was saved before is replaced.",
    guard: "buyer",
    needs: "pay",
    answer: {
      description: "Where to save it.",
      json: SetupPage,
      example: { object: "setup_page", url: "https://checkout.stripe.com/c/pay/cs_…" },
    },
    faults: [...codes("billing_disabled"), away("setup"), refusal("rate_limit_requests", tooManyCheckouts(60))],
  },
  removeMethod: {
    at: "DELETE /console/api/credits/method",
    summary: "Remove the saved card",
    description: "Here and at the payment provider. Automatic top-up is turned off.",
    guard: "buyer",
    needs: "pay",
    answer: { description: "As `GET /console/api/credits`.", json: Credits, example: sampleCredits },
    faults: [...codes("billing_disabled", "no_payment_method"), away("removal")],
  },
  listPayments: {
    at: "GET /console/api/payments",
    summary: "List payments",
    description: "Purchases, those that were made by themselves, refunds and disputes, the newest first.",
    guard: "builder",
    query: PageQuery,
    answer: {
      description: "A page of them.",
      json: PaymentList,
      example: sampleList({
        object: "payment",
        kind: "purchase",
        state: "paid",
        amount_micro: "20000000.000000",
        purchase_id: sampleId("pay"),
        provider_id: null,
        pack_id: "pack_20",
        has_receipt: true,
        at: SAMPLE_TIME,
      }),
    },
    faults: codes("billing_disabled", "invalid_cursor"),
  },
  getPaymentReceipt: {
    at: "GET /console/api/payments/{id}/receipt",
    summary: "Find the receipt of a purchase",
    guard: "builder",
    path: { id: "The purchase's id, `pay_…`." },
    answer: {
      description: "Where the payment provider shows what was paid.",
      json: PaymentReceipt,
      example: { object: "payment_receipt", receipt_url: "https://pay.stripe.com/receipts/…", invoice_url: null },
    },
    faults: [refusal("not_found", "No such purchase of yours."), ...codes("billing_disabled"), away("receipt")],
  },
});
