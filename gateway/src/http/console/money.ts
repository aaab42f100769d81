/** A builder's money: credits and holds, what was spent on what, and the statement. */
import { z } from "zod";
import { publicId, type Uuid } from "../../base/ids.ts";
import { invariant } from "../../base/invariant.ts";
import { exactMicro, pico } from "../../base/money.ts";
import { invalidRequest } from "../../faults.ts";
import { SUMS_MAX } from "../../history/hourly-sums.ts";
import { USAGE_BY, type Usage } from "../../history/usage.ts";
import type { Balance } from "../../ledger/ledger.ts";
import type { Statement, StatementLine } from "../../ledger/statement.ts";
import { parseFields } from "../fields.ts";
import type { Cursors } from "../lists/cursors.ts";
import { PageFields, page, SpanFields } from "../lists/pages.ts";
import type { ConsoleRoute, Guards } from "./guards.ts";
import { seconds, startOfMonth } from "./keys.ts";

export interface MoneyRoutesOptions {
  balance: (accountId: Uuid) => Promise<Balance | undefined>;
  usage: Usage;
  statement: Statement;
  cursors: Cursors;
  /** Unix milliseconds. */
  now: () => number;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const DAYS_MAX = 400;
const DAYS_BY_HOUR_MAX = 31;
export const UsageQuery = z.object({
  ...SpanFields,
  by: z.enum(USAGE_BY, `must be one of ${USAGE_BY.join(", ")}`).default("day"),
  split: z.enum(["key", "model"], "must be key or model").optional(),
});
export const Page = z.object(PageFields);

export function moneyRoutes(route: ConsoleRoute, guards: Guards, options: MoneyRoutesOptions): void {
  const { usage, statement, cursors, now } = options;

  route("GET", "/console/api/balance", guards.builder, async ({ account, json }) => {
    const money = await options.balance(account.id);
    invariant(money !== undefined, `account ${account.id} has no books`);
    json(balanceObject(money));
  });
  route("GET", "/console/api/usage", guards.builder, async ({ account, query, json }) => {
    const fields = parseFields(UsageQuery, Object.fromEntries(query));
    const { by, split, to = new Date(now()), from = startOfMonth(to.getTime()) } = fields;
    if (to < from) throw invalidRequest("to", "to must not be before from");
    const days = (to.getTime() - from.getTime()) / DAY_MS;
    if (by === "hour" && days > DAYS_BY_HOUR_MAX) {
      throw invalidRequest(
        "from",
        `from must be at most ${DAYS_BY_HOUR_MAX} days before to where the sums are by hour`,
      );
    }
    if (days > DAYS_MAX) throw invalidRequest("from", `from must be at most ${DAYS_MAX} days before to`);
    const data = bounded(await usage.sums(account.id, { by, split, from, to })).map((row) => ({
      [by]: by === "key" ? publicId("key", row.bucket as Uuid) : row.bucket,
      ...(split !== undefined && { [split]: split === "key" ? publicId("key", row.part as Uuid) : row.part }),
      requests: row.requests,
      prompt_tokens: row.promptTokens,
      completion_tokens: row.completionTokens,
      charge_micro: exactMicro(row.amount),
    }));
    json({ object: "list", by, from: seconds(from), to: seconds(to), data, next_cursor: null });
  });
  route("GET", "/console/api/ledger", guards.builder, async ({ account, query, json }) => {
    const { cursor, limit } = parseFields(Page, Object.fromEntries(query));
    json(
      await page({
        cursors,
        list: `ledger ${account.id}`,
        cursor,
        limit,
        read: (before, max) => statement.lines(account.id, { before, limit: max }),
        position: ({ id }) => id,
        show: lineObject,
      }),
    );
  });
}

/** A long span, split by hundreds of keys, would be an answer of any size. */
export function bounded<Row>(sums: Row[]): Row[] {
  if (sums.length <= SUMS_MAX) return sums;
  throw invalidRequest("from", `from must be nearer to to: these are more than ${SUMS_MAX} sums`);
}

export function balanceObject({ balance, held }: Balance): object {
  return {
    object: "balance",
    balance_micro: exactMicro(balance),
    held_micro: exactMicro(held),
    available_micro: exactMicro(pico(balance - held)),
  };
}

export function lineObject({ kind, amount, operation, reason, at }: StatementLine): object {
  const ofRequest = reason === null;
  return {
    object: "ledger_entry",
    kind,
    amount_micro: exactMicro(amount),
    request_id: ofRequest ? publicId("req", operation) : null,
    transfer_id: ofRequest ? null : publicId("pay", operation),
    reason,
    at: seconds(at),
  };
}
