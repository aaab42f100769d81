/** Parses the flags for an API key's settings: budgets, expiry, models and limits. */

import type { Flag } from "@tollgate/terminal/command.ts";
import { UsageError } from "@tollgate/terminal/errors.ts";
import { PICO_PER_DOLLAR, type Pico, pico } from "../../base/money.ts";
import type { KeySettings } from "../../keys/key-settings.ts";
import type { LimitOverrides } from "../../keys/secret-store.ts";
import type { KeyLimits } from "../../limits/limits.ts";
import { CATALOGUE_FILE, loadCatalogue } from "../../metering/catalogue.ts";
import type { AdminRun } from "./admin-run.ts";

const BUDGET_DOLLARS_MAX = 1_000_000n;
const BUDGET_RULE = 'an amount in dollars, or "none"';
const LIMIT_RULE = `a whole number up to the maximum that operators allow for the key, or "none"`;

export const SETTING_FLAGS: Record<string, Flag> = {
  "budget-day": { value: "USD", help: `the most that the key may spend in a UTC day: ${BUDGET_RULE}` },
  "budget-month": { value: "USD", help: `the most that the key may spend in a UTC month: ${BUDGET_RULE}` },
  expires: { value: "TIME", help: '2027-01-31, 2027-01-31T18:00:00Z, or "never"' },
  models: { value: "A,B", help: 'the models that the key may call, or "all"', repeated: true },
  "requests-per-minute": { value: "N", help: `the owner's limit: ${LIMIT_RULE}` },
  "tokens-per-minute": { value: "N", help: `the owner's limit: ${LIMIT_RULE}` },
  "in-flight": { value: "N", help: `the owner's limit: ${LIMIT_RULE}` },
};

/** Returns only the given settings. Reports all mistakes at once. */
export async function parseKeySettings(run: AdminRun, nowMs: number): Promise<Partial<KeySettings>> {
  const { flags, config } = run;
  const mistakes: string[] = [];
  const read = <Value>(flag: string, parse: (text: string) => Value | undefined, rule: string): Value | undefined => {
    const text = flags[flag];
    const value = text === undefined ? undefined : parse(text);
    if (text !== undefined && value === undefined) mistakes.push(`--${flag} must be ${rule}`);
    return value;
  };
  const budget = `${BUDGET_RULE}: 5, 0.25, at most ${BUDGET_DOLLARS_MAX}`;
  const budgetDay = read("budget-day", budgetOf, budget);
  const budgetMonth = read("budget-month", budgetOf, budget);
  const moment = (text: string): Date | null | undefined => momentOf(text, nowMs);
  const expiresAt = read("expires", moment, 'a future day or time, such as 2027-01-31T18:00:00Z, or "never"');
  const { entries } = await loadCatalogue(config.catalogueFile ?? CATALOGUE_FILE);
  const known = entries.map(({ id }) => id);
  const models = read("models", (text) => modelsOf(text, known), `"all", or some of ${known.join(", ")}`);
  const ownLimits: Partial<LimitOverrides> = {};
  for (const [flag, name] of LIMIT_FLAGS) {
    const limit = read(flag, limitOf, LIMIT_RULE);
    if (limit !== undefined) ownLimits[name] = limit;
  }
  if (mistakes.length > 0) throw new UsageError(mistakes);
  return {
    ...(budgetDay !== undefined && { budgetDay }),
    ...(budgetMonth !== undefined && { budgetMonth }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(models !== undefined && { models }),
    ...(Object.keys(ownLimits).length > 0 && { ownLimits }),
  };
}

const LIMIT_FLAGS = [
  ["requests-per-minute", "requestsPerMinute"],
  ["tokens-per-minute", "tokensPerMinute"],
  ["in-flight", "inFlight"],
] as const;

/** Checks the limits that an account's owner chose for a key. They may be lower than the operator's, but not higher. */
export function checkOwnLimits({ ownLimits = {} }: Partial<KeySettings>, ceiling: KeyLimits): void {
  const above = LIMIT_FLAGS.filter(([, name]) => (ownLimits[name] ?? 0) > ceiling[name]);
  if (above.length === 0) return;
  throw new UsageError(above.map(([flag, name]) => `--${flag} must be ${ceiling[name]} or less, or "none"`));
}

/** Parses a budget exactly, to the picodollar. */
function budgetOf(text: string): Pico | null | undefined {
  if (text === "none") return null;
  const [, whole, part = ""] = /^(\d{1,7})(?:\.(\d{1,12}))?$/.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const amount = BigInt(whole + part.padEnd(12, "0"));
  return amount > BUDGET_DOLLARS_MAX * PICO_PER_DOLLAR ? undefined : pico(amount);
}

/** Parses a day, which begins at 00:00 UTC, or a time, which needs a UTC offset. */
function momentOf(text: string, nowMs: number): Date | null | undefined {
  if (text === "never") return null;
  if (!/^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2})?(Z|[+-]\d{2}:\d{2}))?$/.test(text)) return undefined;
  const at = new Date(text);
  const isThere = !Number.isNaN(at.getTime()) && (text.length > 10 || at.toISOString().startsWith(text));
  return isThere && at.getTime() > nowMs ? at : undefined;
}

function modelsOf(text: string, known: string[]): string[] | null | undefined {
  if (text === "all") return null;
  const models = [...new Set(text.split(","))];
  return models.every((model) => known.includes(model)) ? models : undefined;
}

function limitOf(text: string): number | null | undefined {
  if (text === "none") return null;
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

/** Parses `90s`, `1h`, `7d`, or a number of seconds; at most 30 days. Returns milliseconds. */
export function parseKeepOldSecretMs(text = "0"): number {
  const [, count, unit = "s"] = /^(\d{1,7})([smhd])?$/.exec(text) ?? [];
  const seconds = Number(count) * { s: 1, m: 60, h: 3600, d: 86_400 }[unit as "s" | "m" | "h" | "d"];
  if (Number.isNaN(seconds) || seconds > KEEP_OLD_SECRET_S_MAX) {
    throw new UsageError("--keep-old must be a time of at most 30 days: 0, 90s, 1h, 7d");
  }
  return seconds * 1000;
}

const KEEP_OLD_SECRET_S_MAX = 30 * 86_400;
