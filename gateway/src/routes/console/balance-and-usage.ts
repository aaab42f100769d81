/** A builder's credit: balance and holds, usage, the statement, and purchases. */
import type { Balance, balanceAndUsageRoutes, LedgerEntry } from "@tollgate/api/console/balance-and-usage.ts";
import type { z } from "zod";
import { parseId, publicId, type Uuid } from "../../base/ids.ts";
import { invariant } from "../../base/invariant.ts";
import { formatExactMicrodollars, pico } from "../../base/money.ts";
import { DAY_MS, startOfMonth, toUnixSeconds } from "../../base/time.ts";
import { ruleViolation } from "../../faults.ts";
import { HOURLY_SUMS_MAX } from "../../history/hourly-sums.ts";
import type { HistoryServices } from "../../history/services.ts";
import { listPage } from "../../http/lists/list-pages.ts";
import type { Handlers, WithOptionalTime } from "../../http/serve-routes.ts";
import type { Balance as AccountBalance } from "../../ledger/ledger.ts";
import type { LedgerServices } from "../../ledger/services.ts";
import type { StatementLine } from "../../ledger/statement.ts";
import type { SiteServices } from "../services.ts";

const DAYS_MAX = 400;
const DAYS_BY_HOUR_MAX = 31;

export function balanceAndUsageHandlers(
  parts: Pick<LedgerServices, "ledger" | "statement"> &
    Pick<HistoryServices, "usage"> &
    Pick<SiteServices, "cursors" | "now">,
): Handlers<typeof balanceAndUsageRoutes> {
  const { ledger, usage, statement, cursors, now } = parts;
  return {
    async getBalance({ account }) {
      const money = await ledger.balance(account.id);
      invariant(money !== undefined, `account ${account.id} is not in the ledger`);
      return balanceObject(money);
    },

    async getUsage({ account, query }) {
      const { by, split, key, to = new Date(now()), from = startOfMonth(to.getTime()) } = query;
      if (to < from) throw ruleViolation("to", 'must not be before "from"');
      const days = (to.getTime() - from.getTime()) / DAY_MS;
      if (by === "hour" && days > DAYS_BY_HOUR_MAX) {
        throw ruleViolation("from", `must be at most ${DAYS_BY_HOUR_MAX} days before "to" when "by" is "hour"`);
      }
      if (days > DAYS_MAX) throw ruleViolation("from", `must be at most ${DAYS_MAX} days before "to"`);
      if (by === "label") {
        if (split !== undefined) throw ruleViolation("split", 'must not be set when "by" is "label"');
        if (key !== undefined) throw ruleViolation("key", 'must not be set when "by" is "label"');
        const sums = await usage.byLabel(account.id, { from, to });
        const data = sums.map(({ promptTokens, completionTokens, charge, ...sum }) => ({
          ...sum,
          prompt_tokens: promptTokens,
          completion_tokens: completionTokens,
          charge_micro: formatExactMicrodollars(charge),
        }));
        return { object: "list", by, from: toUnixSeconds(from), to: toUnixSeconds(to), data, next_cursor: null };
      }
      const keyId = key === undefined ? undefined : parseId("key", key);
      const names = by === "key" || split === "key" ? await usage.keyNames(account.id) : new Map<Uuid, string>();
      const shown = (field: string, value: unknown): object =>
        field === "key"
          ? { key: publicId("key", value as Uuid), key_name: names.get(value as Uuid) ?? null }
          : { [field]: value };
      const data = refuseTooManyHourlySums(await usage.sums(account.id, { by, split, from, to, keyId })).map((row) => ({
        ...shown(by, row.bucket),
        ...(split !== undefined && shown(split, row.part)),
        requests: row.requests,
        prompt_tokens: row.promptTokens,
        completion_tokens: row.completionTokens,
        charge_micro: formatExactMicrodollars(row.amount),
      }));
      return { object: "list", by, from: toUnixSeconds(from), to: toUnixSeconds(to), data, next_cursor: null };
    },

    listLedger: ({ account, query }) =>
      listPage({
        cursors,
        list: `entries ${account.id}`,
        query,
        read: (before, max) => statement.lines(account.id, { before, limit: max }),
        position: ({ id }) => id,
        show: lineObject,
      }),
  };
}

/** Limits the response size, because a long time span split by hundreds of keys would have any number of sums. */
export function refuseTooManyHourlySums<Row>(sums: Row[]): Row[] {
  if (sums.length <= HOURLY_SUMS_MAX) return sums;
  throw ruleViolation(
    "from",
    `must be later, or "to" earlier: this range would return more than ${HOURLY_SUMS_MAX} rows`,
  );
}

export function balanceObject({ balance, held }: AccountBalance): WithOptionalTime<z.input<typeof Balance>> {
  return {
    object: "balance",
    balance_micro: formatExactMicrodollars(balance),
    held_micro: formatExactMicrodollars(held),
    available_micro: formatExactMicrodollars(pico(balance - held)),
  };
}

function lineObject({ kind, amount, of, operation, reason, at }: StatementLine): z.input<typeof LedgerEntry> {
  return {
    object: "ledger_entry",
    kind,
    amount_micro: formatExactMicrodollars(amount),
    request_id: of === "request" ? publicId("req", operation) : null,
    transfer_id: of === "transfer" ? publicId("pay", operation) : null,
    // A closing (the sums of a dropped month) has its month's end as time, so this is the dropped month.
    month: of === "closing" ? at.toISOString().slice(0, 7) : null,
    reason,
    at: toUnixSeconds(at),
  };
}
