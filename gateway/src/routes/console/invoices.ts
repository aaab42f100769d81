/** One month of an account as a PDF file: an invoice for a builder, a statement for a host. */
import type { invoiceRoutes } from "@tollgate/api/console/invoices.ts";
import type { Membership } from "../../accounts/accounts.ts";
import { publicId, type Uuid } from "../../base/ids.ts";
import { PICO_PER_MICRO, type Pico, pico } from "../../base/money.ts";
import { type PdfColumn, type PdfTable, writePdf } from "../../base/pdf.ts";
import { invalidRequest } from "../../faults.ts";
import type { Handlers, TextFile } from "../../http/serve-routes.ts";
import type { BalanceChanges } from "../../ledger/balance-changes.ts";
import type { LedgerServices } from "../../ledger/services.ts";
import type { SiteServices } from "../services.ts";

type InvoiceParts = Pick<LedgerServices, "moves"> & Pick<SiteServices, "now" | "publicUrl">;

interface Kind {
  /** The title of the document, and the first part of the file's name. */
  title: string;
  name: string;
  /** The heading of the table by model, and of its column of amounts. */
  models: string;
  amounts: string;
  /**
   * Converts an amount's sign for display: a builder's usage reduces the balance, but is shown as a positive charge.
   */
  shown: (amount: Pico) => Pico;
  transfers: string;
  notes: string[];
}

const INVOICE: Kind = {
  title: "Invoice",
  name: "invoice",
  models: "Usage by model",
  amounts: "Charged",
  shown: (amount) => pico(-amount),
  transfers: "Purchases and other transfers",
  notes: ["Usage is paid from prepaid credit. The Credits page has the receipt of each card payment."],
};
const STATEMENT: Kind = {
  title: "Host statement",
  name: "statement",
  models: "Earnings by model",
  amounts: "Earned",
  shown: (amount) => amount,
  transfers: "Payouts and other transfers",
  notes: ["Withheld earnings and their releases are listed as separate transfers."],
};

export function invoiceHandlers({ moves, now, publicUrl }: InvoiceParts): Handlers<typeof invoiceRoutes> {
  const fileOf = async (kind: Kind, account: Membership, month: string): Promise<TextFile> => {
    const from = new Date(`${month}-01T00:00:00Z`);
    if (from.getTime() > now()) throw invalidRequest("month", "month must not be in the future");
    const to = new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + 1, 1));
    const found = await moves(account.id, { from, to });
    const text = documentOf(kind, {
      account,
      month,
      found,
      isOver: to.getTime() <= now(),
      madeAt: new Date(now()),
      publicUrl,
    });
    return { name: `${kind.name}-${month}.pdf`, text: once(text) };
  };
  return {
    getInvoice: ({ account, query }) => fileOf(INVOICE, account, query.month),
    getHostStatement: ({ account, query }) => fileOf(STATEMENT, account, query.month),
  };
}

async function* once(text: string): AsyncGenerator<string> {
  yield text;
}

interface Month {
  account: Membership;
  month: string;
  found: BalanceChanges;
  isOver: boolean;
  madeAt: Date;
  publicUrl: string | undefined;
}

function documentOf(kind: Kind, { account, month, found, isOver, madeAt, publicUrl }: Month): string {
  const id = publicId("acc", account.id);
  const status = isOver ? [] : ([["Status", "Provisional: the month is not over"]] as [string, string][]);
  return writePdf({
    title: `${kind.title} ${month}`,
    facts: [
      ["Number", `${month}-${id.slice(-8)}`],
      ...status,
      ["Account", account.name],
      ["Account ID", id],
      ...(publicUrl === undefined ? [] : ([["Platform", publicUrl]] as [string, string][])),
      ["Period", `${month}, whole days in UTC`],
      ["Made at", `${madeAt.toISOString().slice(0, 16).replace("T", " ")} UTC`],
    ],
    tables: [balances(kind, found), byModel(kind, found), transfers(kind, found)],
    notes: ["Amounts are in US dollars, rounded to the nearest millionth.", ...kind.notes],
  });
}

const amount = (title: string): PdfColumn => ({ title, width: 1.4, right: true });

function balances(kind: Kind, { before, after, models, transfers: moved }: BalanceChanges): PdfTable {
  const sum = (rows: { amount: Pico }[]): Pico => pico(rows.reduce((so, one) => so + one.amount, 0n));
  return {
    title: "Balance",
    columns: [{ title: "", width: 4 }, amount("Amount")],
    rows: [
      ["Balance before", dollarText(before)],
      [kind.transfers, dollarText(sum(moved))],
      [kind.models, dollarText(sum(models))],
    ],
    total: ["Balance after", dollarText(after)],
    empty: "",
  };
}

function byModel(kind: Kind, { models }: BalanceChanges): PdfTable {
  const sum = (of: (row: BalanceChanges["models"][0]) => number): string =>
    countText(models.reduce((so, row) => so + of(row), 0));
  const number = (title: string): PdfColumn => ({ title, width: 1.1, right: true });
  return {
    title: kind.models,
    columns: [
      { title: "Model", width: 2 },
      number("Requests"),
      number("Tokens in"),
      number("Tokens out"),
      amount(kind.amounts),
    ],
    rows: models.map((row) => [
      row.model === "" ? "Refused by a limit" : row.model,
      countText(row.requests),
      countText(row.promptTokens),
      countText(row.completionTokens),
      dollarText(kind.shown(row.amount)),
    ]),
    total: [
      "Total",
      sum(({ requests }) => requests),
      sum(({ promptTokens }) => promptTokens),
      sum(({ completionTokens }) => completionTokens),
      dollarText(kind.shown(pico(models.reduce((so, row) => so + row.amount, 0n)))),
    ],
    empty: "No requests in this month.",
  };
}

const transfers = (kind: Kind, { transfers: rows }: BalanceChanges): PdfTable => ({
  title: kind.transfers,
  columns: [
    { title: "Time (UTC)", width: 1.3 },
    { title: "Type", width: 0.8 },
    { title: "ID", width: 2.6 },
    { title: "Reason", width: 1.5 },
    amount("Amount"),
  ],
  rows: rows.map((row) => {
    const [, payoutId] = PAYOUT_REASON.exec(row.reason) ?? [];
    return [
      row.at.toISOString().slice(0, 16).replace("T", " "),
      row.kind,
      publicId("pay", (payoutId as Uuid | undefined) ?? row.id),
      payoutId === undefined ? row.reason : "",
      dollarText(row.amount),
    ];
  }),
  empty: "No transfers in this month.",
});

/** The reason of a payout's transfer (gateway/sql/functions/payout_paid.sql). Hosts know the payout by its ID. */
const PAYOUT_REASON = /^payout ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

const countText = (count: number): string => count.toLocaleString("en-US");

/** `-$1,234.567890`: always six decimals, so that the columns align. */
function dollarText(of: Pico): string {
  const size = of < 0n ? -of : of;
  const micro = (size + PICO_PER_MICRO / 2n) / PICO_PER_MICRO;
  const [whole, part] = [micro / 1_000_000n, micro % 1_000_000n];
  const sign = of < 0n && micro > 0n ? "-" : "";
  return `${sign}$${whole.toLocaleString("en-US")}.${String(part).padStart(6, "0")}`;
}
