/** API keys of a builder: list, create (the secret is shown once), rename, revoke. Spend is this month's. */
import { z } from "zod";
import { parseId, publicId, type Uuid } from "../../base/ids.ts";
import { exactMicro, ZERO } from "../../base/money.ts";
import { fault } from "../../faults.ts";
import type { HourlySum } from "../../history/hourly-sums.ts";
import type { Usage } from "../../history/usage.ts";
import type { LimitOverrides, SecretRecord, Secrets } from "../../keys/keys.ts";
import { DEFAULT_LIMITS } from "../../limits/limits.ts";
import type { Cursors } from "../lists/cursors.ts";
import { isPlain, PLAIN_RULE } from "../plain-text.ts";
import type { ConsoleRoute, Guards } from "./guards.ts";
import { issueSecret, secretsPage } from "./secret-lists.ts";

export interface KeyRoutesOptions {
  apiKeys: Secrets;
  usage: Usage;
  cursors: Cursors;
  /** Unix milliseconds. */
  now: () => number;
}

export const SecretName = z.object({
  name: z
    .string("must be a string")
    .trim()
    .min(1, "must not be empty")
    .max(200, "must have at most 200 characters")
    .refine(isPlain, PLAIN_RULE),
});

export function keyRoutes(
  route: ConsoleRoute,
  guards: Guards,
  { apiKeys, usage, cursors, now }: KeyRoutesOptions,
): void {
  const spendOf = (accountId: Uuid): Promise<Map<Uuid, HourlySum>> => usage.byKey(accountId, startOfMonth(now()));
  const own = async (accountId: Uuid, id: string | undefined): Promise<SecretRecord> => {
    const uuid = parseId("key", id ?? "");
    const found = uuid === undefined ? undefined : await apiKeys.find(accountId, uuid);
    if (found === undefined) throw noSuchKey();
    return found;
  };
  const shown = async (record: SecretRecord): Promise<object> =>
    keyObject(record, (await spendOf(record.accountId)).get(record.id));

  route("GET", "/console/api/keys", guards.builder, async ({ account, query, json }) => {
    const spend = await spendOf(account.id);
    const show = (record: SecretRecord): object => keyObject(record, spend.get(record.id));
    const list = `keys ${account.id}`;
    json(await secretsPage({ secrets: apiKeys, cursors, list, accountId: account.id, query, show }));
  });
  route("POST", "/console/api/keys", guards.builder, async ({ account, fields, json }) => {
    const { name } = await fields(SecretName);
    const { id, token } = await issueSecret(apiKeys, account.id, name);
    const record = await own(account.id, publicId("key", id));
    json({ ...keyObject(record, undefined), secret: token }, 201);
  });
  route("PATCH", "/console/api/keys/:id", guards.builder, async ({ account, params, fields, json }) => {
    const { id } = await own(account.id, params.id);
    const { name } = await fields(SecretName);
    if (!(await apiKeys.rename(account.id, id, name))) throw fault("not_found", { message: "This key is revoked." });
    json(await shown(await own(account.id, params.id)));
  });
  route("DELETE", "/console/api/keys/:id", guards.builder, async ({ account, params, json }) => {
    const { id } = await own(account.id, params.id);
    // Revoking what is revoked changes nothing and is no mistake.
    await apiKeys.revoke(account.id, id);
    json(await shown(await own(account.id, params.id)));
  });
}

const noSuchKey = (): Error => fault("not_found", { message: "No such key." });

export function keyObject(record: SecretRecord, spend: HourlySum | undefined): object {
  const { id, name, reference, limits, createdAt, lastUsedAt, revokedAt } = record;
  return {
    id: publicId("key", id),
    object: "api_key",
    name,
    start: `tsk_live_${reference}`,
    limits: limitsObject(limits),
    spend_this_month: {
      requests: spend?.requests ?? 0,
      charge_micro: exactMicro(spend?.amount ?? ZERO),
    },
    created_at: seconds(createdAt),
    last_used_at: lastUsedAt === null ? null : seconds(lastUsedAt),
    revoked_at: revokedAt === null ? null : seconds(revokedAt),
  };
}

/** What holds for a key: what an operator set for it, else the platform's. */
export function limitsObject(own: LimitOverrides | null): Record<string, number> {
  return {
    requests_per_minute: own?.requestsPerMinute ?? DEFAULT_LIMITS.requestsPerMinute,
    tokens_per_minute: own?.tokensPerMinute ?? DEFAULT_LIMITS.tokensPerMinute,
    in_flight: own?.inFlight ?? DEFAULT_LIMITS.inFlight,
  };
}

export const seconds = (date: Date): number => Math.floor(date.getTime() / 1000);

export function startOfMonth(now: number): Date {
  const date = new Date(now);
  return new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1));
}
