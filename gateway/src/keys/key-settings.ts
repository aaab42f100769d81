/** The settings that an owner gives an API key: budgets, expiry, models, and limits below the platform's. */
import type pg from "pg";
import type { Uuid } from "../base/ids.ts";
import type { Pico } from "../base/money.ts";
import type { LimitOverrides } from "./secret-store.ts";

export interface KeySettings {
  /** The budget per UTC day. The next field is the budget per UTC month. */
  budgetDay: Pico | null;
  budgetMonth: Pico | null;
  expiresAt: Date | null;
  models: string[] | null;
  /** Whether answers to the key's requests may be checked on other hosts' nodes. */
  spotChecks: boolean;
  /** Whether `user` and `metadata.label` of the key's requests are stored. */
  labels: boolean;
  /** Whether reasoning is also sent in the field `reasoning_content`. */
  reasoningContent: boolean;
  /** The owner's limits. In a change, absent limits stay unchanged. */
  ownLimits: Partial<LimitOverrides>;
}

/** A change of a key's settings. Absent settings stay unchanged. */
export type KeyChange = Partial<KeySettings> & { name?: string };

/** The first setting that a change loosens, by its name in the API. Undefined if the change only tightens. */
export function findLoosenedLimit(was: KeySettings, change: KeyChange): string | undefined {
  const isMore = <Value extends Pico | Date | number>(before: Value | null, now: Value | null | undefined): boolean =>
    before !== null && now !== undefined && (now === null || now > before);
  if (isMore(was.budgetDay, change.budgetDay)) return "budget_day_micro";
  if (isMore(was.budgetMonth, change.budgetMonth)) return "budget_month_micro";
  if (isMore(was.expiresAt, change.expiresAt)) return "expires_at";
  const { models } = was;
  if (models !== null && change.models !== undefined && !change.models?.every((model) => models.includes(model)))
    return "models";
  const limits = ["requestsPerMinute", "tokensPerMinute", "inFlight"] as const;
  return limits.some((name) => isMore(was.ownLimits[name] ?? null, change.ownLimits?.[name])) ? "limits" : undefined;
}

/** Changes a key in the caller's transaction. Returns false when the account has no such key or it is revoked. */
export async function changeKey(
  client: pg.PoolClient,
  { accountId, id }: { accountId: Uuid; id: Uuid },
  change: KeyChange,
): Promise<boolean> {
  const sets: string[] = [];
  const values: unknown[] = [id, accountId];
  const set = (column: string, value: unknown): void => {
    values.push(value);
    sets.push(`${column} = $${values.length}`);
  };
  if (change.name !== undefined) set("name", change.name);
  if (change.expiresAt !== undefined) set("expires_at", change.expiresAt);
  if (change.models !== undefined) set("models", change.models);
  if (change.spotChecks !== undefined) set("spot_checks", change.spotChecks);
  if (change.labels !== undefined) set("labels", change.labels);
  if (change.reasoningContent !== undefined) set("reasoning_content", change.reasoningContent);
  const { requestsPerMinute, tokensPerMinute, inFlight } = change.ownLimits ?? {};
  if (requestsPerMinute !== undefined) set("own_requests_per_minute", requestsPerMinute);
  if (tokensPerMinute !== undefined) set("own_tokens_per_minute", tokensPerMinute);
  if (inFlight !== undefined) set("own_in_flight", inFlight);
  if (change.budgetDay !== undefined || change.budgetMonth !== undefined) {
    const { rowCount } = await client.query(
      `select key_budget_set(k.account_id, k.id,
                             case when $3 then $4::bigint else k.budget_day_pico end,
                             case when $5 then $6::bigint else k.budget_month_pico end)
         from (select * from api_key where id = $1 and account_id = $2 and revoked_at is null for no key update) k`,
      [
        id,
        accountId,
        change.budgetDay !== undefined,
        change.budgetDay?.toString() ?? null,
        change.budgetMonth !== undefined,
        change.budgetMonth?.toString() ?? null,
      ],
    );
    if (rowCount !== 1) return false;
  }
  const { rowCount } = await client.query(
    `update api_key set ${["id = id", ...sets].join(", ")} where id = $1 and account_id = $2 and revoked_at is null`,
    values,
  );
  return rowCount === 1;
}
