/** Prints a builder's low-credit alert and automatic top-up for admin commands. */
import { CreditAlertFields } from "@tollgate/api/console/credits.ts";
import { UsageError } from "@tollgate/terminal/errors.ts";
import type { Uuid } from "../../base/ids.ts";
import { formatExactMicrodollars, PICO_PER_MICRO, type Pico, pico } from "../../base/money.ts";
import { readCreditAlert } from "../../payments/credit-alerts.ts";
import { type AutoTopUp, readTopUp } from "../../payments/top-up-settings.ts";
import { topUpObject } from "../../routes/console/statement.ts";
import type { AdminRun } from "./admin-run.ts";
import { formatDollars } from "./format-dollars.ts";

interface CreditSettings {
  mark: Pico | null;
  /** Undefined if automatic top-up was never configured. */
  topUp: AutoTopUp | undefined;
}

export async function readCreditSettings(
  { pool, clock }: Pick<AdminRun, "pool" | "clock">,
  accountId: Uuid,
): Promise<CreditSettings> {
  const [alert, topUp] = await Promise.all([readCreditAlert(pool, accountId), readTopUp(pool, accountId, clock.now())]);
  return { mark: alert?.mark ?? null, topUp };
}

export const creditSettingsJson = ({ mark, topUp }: CreditSettings): object => ({
  alert_mark_micro: mark === null ? null : formatExactMicrodollars(mark),
  top_up: topUp === undefined ? null : topUpObject(topUp),
});

export const formatCreditSettings = ({ mark, topUp }: CreditSettings, balance: Pico): Record<string, string> => ({
  Alert: mark === null ? "none" : `below ${formatDollars(mark)}${balance < mark ? ", which it is" : ""}`,
  "Top-up": topUp === undefined ? "never set" : topUpText(topUp),
});

function topUpText({ enabled, amount, mark, monthMax, monthSpent, failure, failedAt }: AutoTopUp): string {
  const what = `${formatDollars(amount)} when below ${formatDollars(mark)}`;
  const month = `${formatDollars(monthSpent)} of ${formatDollars(monthMax)} this month`;
  const why = failure === null ? "" : `; it failed (${failure}) at ${failedAt?.toISOString()}`;
  return `${enabled ? "on" : "off"}: ${what}, ${month}${why}`;
}

/** Parses the value of `--below`; null for `none`. */
export function parseThreshold(text = ""): Pico | null {
  if (text === "none") return null;
  const [, whole = "", part = ""] = /^(\d{1,7})(?:\.(\d{1,6}))?$/.exec(text) ?? [];
  const micro = BigInt(whole + part.padEnd(6, "0"));
  if (whole === "" || !CreditAlertFields.safeParse({ mark_micro: micro.toString() }).success) {
    throw new UsageError('--below must be an amount in dollars from 0.01 to 1000000, such as 2 or 0.50, or "none"');
  }
  return pico(micro * PICO_PER_MICRO);
}
