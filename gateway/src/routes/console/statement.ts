/** How long a builder's credit lasts, its alerts and top-ups, and the statement by day. */
import type { Credits, StatementRow, statementRoutes } from "@tollgate/api/console/credits.ts";
import { parseMicroToPico } from "@tollgate/api/microdollars.ts";
import type { z } from "zod";
import type { CsvColumns } from "../../base/csv.ts";
import { publicId, type Uuid } from "../../base/ids.ts";
import { invariant } from "../../base/invariant.ts";
import { formatExactMicrodollars, type Pico, pico } from "../../base/money.ts";
import { toUnixSeconds } from "../../base/time.ts";
import type { HistoryServices } from "../../history/services.ts";
import { listPage } from "../../http/lists/list-pages.ts";
import type { Handlers, WithOptionalTime } from "../../http/serve-routes.ts";
import type { LedgerServices } from "../../ledger/services.ts";
import type { StatementRow as Row } from "../../ledger/statement.ts";
import type { NotificationServices } from "../../notifications/services.ts";
import type { PaymentServices } from "../../payments/services.ts";
import type { AutoTopUp } from "../../payments/top-up-settings.ts";
import type { SiteServices } from "../services.ts";
import { createCsvFile } from "./csv-file.ts";

type CreditParts = Pick<LedgerServices, "ledger"> &
  Pick<HistoryServices, "usage"> &
  Pick<NotificationServices, "sendsMail"> &
  Pick<PaymentServices, "alerts" | "payments"> &
  Pick<SiteServices, "now">;

export function statementHandlers(
  parts: CreditParts & Pick<LedgerServices, "statement"> & Pick<SiteServices, "cursors">,
): Handlers<typeof statementRoutes> {
  const { statement, cursors, alerts } = parts;
  return {
    getCredits: ({ account }) => readCredits(parts, account.id),

    async setAlert({ account, body }) {
      const { mark_micro: mark } = body();
      await alerts.set(account.id, mark === undefined ? null : parseValidatedMicro(mark));
      return await readCredits(parts, account.id);
    },

    listStatement: ({ account, query }) =>
      listPage({
        cursors,
        list: `statement ${account.id}`,
        query,
        read: (before, limit) => statement.byDay(account.id, { before, limit }),
        position: ({ place }) => place,
        show: rowObject,
      }),

    exportStatement: async ({ account }) =>
      createCsvFile({
        name: "statement.csv",
        columns: CSV_COLUMNS,
        // Reads all rows in one query, so that the balances belong to one moment. One row per day is little data.
        read: async (last) => (last === undefined ? await statement.byDay(account.id) : []),
      }),
  };
}

/** Parses an amount of microdollars from a field that is already validated. */
export function parseValidatedMicro(text: string): Pico {
  const amount = parseMicroToPico(text);
  invariant(amount !== undefined, `not an amount: ${text}`);
  return pico(amount);
}

const DAY_S = 86_400n;
const LASTS_S_MAX = 3_650n * DAY_S;

/** How many seconds the balance lasts at this daily spend; null if nothing is spent. */
export function estimateCreditDurationS(balance: Pico, perDay: Pico): number | null {
  if (perDay <= 0n) return null;
  const lasts = balance <= 0n ? 0n : (balance * DAY_S) / perDay;
  return Number(lasts < LASTS_S_MAX ? lasts : LASTS_S_MAX);
}

export async function readCredits(
  parts: CreditParts,
  accountId: Uuid,
): Promise<WithOptionalTime<z.input<typeof Credits>>> {
  const { ledger, usage, alerts, sendsMail, payments, now } = parts;
  const [money, burn, alert, topUp, method] = await Promise.all([
    ledger.balance(accountId),
    usage.burn(accountId, now()),
    alerts.of(accountId),
    payments?.topUps.of(accountId),
    payments?.method(accountId),
  ]);
  invariant(money !== undefined, `account ${accountId} is not in the ledger`);
  return {
    object: "credits",
    can_buy: payments !== undefined,
    can_mail: sendsMail,
    spending: {
      last_day_micro: formatExactMicrodollars(burn.day),
      last_week_micro: formatExactMicrodollars(burn.week),
      per_day_micro: formatExactMicrodollars(burn.perDay),
      lasts_s: estimateCreditDurationS(money.balance, burn.perDay),
    },
    alert: {
      mark_micro: alert === undefined ? null : formatExactMicrodollars(alert.mark),
      is_below: alert !== undefined && money.balance < alert.mark,
    },
    top_up: topUp === undefined ? null : topUpObject(topUp),
    method: method === undefined ? null : { object: "payment_method", brand: method.brand, last4: method.last4 },
  };
}

export function topUpObject({ enabled, amount, mark, monthMax, monthSpent, failure, failedAt }: AutoTopUp) {
  return {
    enabled,
    amount_micro: formatExactMicrodollars(amount),
    mark_micro: formatExactMicrodollars(mark),
    month_max_micro: formatExactMicrodollars(monthMax),
    month_spent_micro: formatExactMicrodollars(monthSpent),
    failure,
    failed_at: failedAt === null ? null : toUnixSeconds(failedAt),
  };
}

function rowObject(row: Row): z.input<typeof StatementRow> {
  return {
    object: "statement_row",
    kind: row.kind,
    day: row.day,
    requests: row.requests,
    prompt_tokens: row.promptTokens,
    completion_tokens: row.completionTokens,
    amount_micro: formatExactMicrodollars(row.amount),
    balance_micro: formatExactMicrodollars(row.balance),
    transfer_id: row.transferId === null ? null : publicId("pay", row.transferId),
    reason: row.reason,
    at: row.at === null ? null : toUnixSeconds(row.at),
  };
}

const CSV_COLUMNS: CsvColumns<Row> = {
  kind: ({ kind }) => kind,
  day: ({ day }) => day,
  at: ({ at }) => at?.toISOString(),
  requests: ({ requests }) => requests,
  prompt_tokens: ({ promptTokens }) => promptTokens,
  completion_tokens: ({ completionTokens }) => completionTokens,
  amount_micro: ({ amount }) => formatExactMicrodollars(amount),
  balance_micro: ({ balance }) => formatExactMicrodollars(balance),
  transfer_id: ({ transferId }) => (transferId === null ? null : publicId("pay", transferId)),
  reason: ({ reason }) => reason,
};
