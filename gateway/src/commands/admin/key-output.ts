/** Formats API keys for admin commands, and their settings for the audit log. */

import type { Column } from "@tollgate/terminal/table-format.ts";
import { publicId } from "../../base/ids.ts";
import { formatExactMicrodollars, type Pico, ZERO } from "../../base/money.ts";
import type { HourlySum } from "../../history/hourly-sums.ts";
import type { ApiKeyRecord } from "../../keys/api-keys.ts";
import type { KeySettings } from "../../keys/key-settings.ts";
import { computeEffectiveLimits, DEFAULT_KEY_LIMITS, type KeyLimits } from "../../limits/limits.ts";
import { formatDollars } from "./format-dollars.ts";

type Limited = Pick<ApiKeyRecord, "limits" | "ownLimits">;

interface Listed {
  record: ApiKeyRecord;
  /** The month's spending, and today's if requested. Undefined if nothing was spent. */
  spend: HourlySum | undefined;
  today?: HourlySum | undefined;
}

export const listKeyColumns = (now: number): Column<Listed>[] => [
  { title: "KEY", cell: ({ record }) => publicId("key", record.id) },
  { title: "BEGINS", cell: ({ record }) => `tsk_live_${record.reference}_…` },
  { title: "NAME", cell: ({ record }) => record.name },
  { title: "STATE", cell: ({ record }) => stateOf(record, now) },
  { title: "LAST USED", cell: ({ record }) => record.lastUsedAt?.toISOString() ?? "never" },
  { title: "THIS MONTH", align: "money", cell: ({ spend }) => formatDollars(spend?.amount ?? ZERO) },
  { title: "BUDGET/DAY", align: "money", cell: ({ record }) => budgetText(record.budgetDay) },
  { title: "BUDGET/MONTH", align: "money", cell: ({ record }) => budgetText(record.budgetMonth) },
  { title: "EXPIRES", cell: ({ record }) => record.expiresAt?.toISOString() ?? "never" },
  { title: "MODELS", cell: ({ record }) => modelsText(record.models) },
  { title: "REQUESTS/MIN", align: "right", cell: ({ record }) => limitText(record, "requestsPerMinute") },
  { title: "TOKENS/MIN", align: "right", cell: ({ record }) => limitText(record, "tokensPerMinute") },
  { title: "AT ONCE", align: "right", cell: ({ record }) => limitText(record, "inFlight") },
];

const budgetText = (budget: Pico | null): string => (budget === null ? "none" : formatDollars(budget));
const modelsText = (models: string[] | null): string => models?.join(",") ?? "all";

function stateOf({ revokedAt, expiresAt }: ApiKeyRecord, now: number): string {
  if (revokedAt !== null) return "revoked";
  return expiresAt !== null && expiresAt.getTime() <= now ? "expired" : "active";
}

export function makeKeyRow({ record, spend, today }: Listed): object {
  const { id, accountId, limits: overrides, ownLimits: own, budgetDay, budgetMonth, ...rest } = record;
  return {
    id: publicId("key", id),
    account: publicId("acc", accountId),
    ...rest,
    limits: computeEffectiveLimits({ overrides, own }),
    ownLimits: overrides,
    ownersLimits: own,
    budget_day_micro: budgetDay === null ? null : formatExactMicrodollars(budgetDay),
    budget_month_micro: budgetMonth === null ? null : formatExactMicrodollars(budgetMonth),
    defaultLimits: DEFAULT_KEY_LIMITS,
    ...(today !== undefined && { spend_today: spendOf(today) }),
    spend_this_month: spendOf(spend),
  };
}

const spendOf = (sum: HourlySum | undefined) => ({
  requests: sum?.requests ?? 0,
  charge_micro: formatExactMicrodollars(sum?.amount ?? ZERO),
});

export function keyProperties(
  record: ApiKeyRecord,
  { today, spend, now }: Omit<Listed, "record"> & { now: number },
): Record<string, string | undefined> {
  const spent = (sum: HourlySum | undefined, budget: Pico | null): string =>
    `${formatDollars(sum?.amount ?? ZERO)}${budget === null ? ", no budget" : ` of ${formatDollars(budget)}`}`;
  return {
    Key: publicId("key", record.id),
    Account: publicId("acc", record.accountId),
    Name: record.name,
    Begins: `tsk_live_${record.reference}_…`,
    State: stateOf(record, now),
    Created: `${record.createdAt.toISOString()}${record.createdByEmail === null ? "" : ` by ${record.createdByEmail}`}`,
    "Last used": record.lastUsedAt?.toISOString() ?? "never",
    Today: spent(today, record.budgetDay),
    "This month": spent(spend, record.budgetMonth),
    Expires: record.expiresAt?.toISOString() ?? "never",
    Models: modelsText(record.models),
    Limits: formatLimits(record),
    "Old secret": record.previousUntil === null ? undefined : `works until ${record.previousUntil.toISOString()}`,
  };
}

/** The settings in the audit log's format. */
export function formatAuditDetails({
  budgetDay,
  budgetMonth,
  expiresAt,
  models,
  ownLimits,
}: Partial<KeySettings>): object {
  const micro = (amount: Pico | null): string | null => (amount === null ? null : formatExactMicrodollars(amount));
  return {
    ...(budgetDay !== undefined && { budget_day_micro: micro(budgetDay) }),
    ...(budgetMonth !== undefined && { budget_month_micro: micro(budgetMonth) }),
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
    ...(models !== undefined && { models }),
    ...(ownLimits !== undefined && { limits: ownLimits }),
  };
}

/** The effective limit. A star marks one that differs from the default: `5*`. */
function limitText({ limits: overrides, ownLimits: own }: Limited, name: keyof KeyLimits): string {
  const holds = computeEffectiveLimits({ overrides, own })[name];
  return `${holds}${holds === DEFAULT_KEY_LIMITS[name] ? "" : "*"}`;
}

/**
 * All limits in one line: `5* requests/min, 2000000 tokens/min, 64 at once`. A star marks a limit that differs from the
 * default.
 */
export function formatLimits(limited: Limited): string {
  const units = { requestsPerMinute: "requests/min", tokensPerMinute: "tokens/min", inFlight: "at once" } as const;
  const names = Object.keys(units) as (keyof typeof units)[];
  return names.map((name) => `${limitText(limited, name)} ${units[name]}`).join(", ");
}
