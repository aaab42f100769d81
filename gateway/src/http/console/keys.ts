/** API keys of a builder: list, create (the secret is shown once), rename, revoke. Spend is this month's. */
import type { ApiKey, keyRoutes } from "@tollgate/api/console/keys.ts";
import type { z } from "zod";
import { parseId, publicId, type Uuid } from "../../base/ids.ts";
import { invariant } from "../../base/invariant.ts";
import { exactMicro, ZERO } from "../../base/money.ts";
import { seconds, startOfMonth } from "../../base/time.ts";
import type { HourlySum } from "../../history/hourly-sums.ts";
import { type LimitOverrides, type SecretRecord, TooManyOpen } from "../../keys/keys.ts";
import { DEFAULT_LIMITS } from "../../limits/limits.ts";
import type { Parts } from "../parts.ts";
import type { Handlers } from "../routes.ts";
import { secretsPage } from "./secret-lists.ts";

export function keyHandlers(parts: Pick<Parts, "apiKeys" | "usage" | "cursors" | "now">): Handlers<typeof keyRoutes> {
  const { apiKeys, usage, cursors, now } = parts;
  const spendOf = (accountId: Uuid): Promise<Map<Uuid, HourlySum>> => usage.byKey(accountId, startOfMonth(now()));
  const find = async (accountId: Uuid, id: string): Promise<SecretRecord | undefined> => {
    const uuid = parseId("key", id);
    return uuid === undefined ? undefined : await apiKeys.find(accountId, uuid);
  };
  return {
    async listKeys({ account, query }) {
      const spend = await spendOf(account.id);
      const show = (record: SecretRecord) => keyObject(record, spend.get(record.id));
      const list = `keys ${account.id}`;
      return secretsPage({ secrets: apiKeys, cursors, list, accountId: account.id, query, show });
    },

    async createKey({ account, body, refuse }) {
      const { id, token } = await apiKeys.issue(account.id, body().name).catch((cause) => {
        throw cause instanceof TooManyOpen ? refuse("limit_reached", { cause }) : cause;
      });
      const record = await apiKeys.find(account.id, id);
      invariant(record !== undefined, "a key that was issued is there");
      return { ...keyObject(record, undefined), secret: token };
    },

    async renameKey({ account, params, body, refuse }) {
      const found = await find(account.id, params.id);
      if (found === undefined) throw refuse("not_found");
      const { name } = body();
      if (!(await apiKeys.rename(account.id, found.id, name))) {
        throw refuse("not_found", { message: "This key is revoked." });
      }
      return keyObject({ ...found, name }, (await spendOf(account.id)).get(found.id));
    },

    async revokeKey({ account, params, refuse }) {
      const found = await find(account.id, params.id);
      if (found === undefined) throw refuse("not_found");
      // Revoking what is revoked changes nothing and is no mistake.
      await apiKeys.revoke(account.id, found.id);
      const revoked = (await find(account.id, params.id)) ?? found;
      return keyObject(revoked, (await spendOf(account.id)).get(found.id));
    },
  };
}

export function keyObject(record: SecretRecord, spend: HourlySum | undefined): z.input<typeof ApiKey> {
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
export function limitsObject(own: LimitOverrides | null) {
  return {
    requests_per_minute: own?.requestsPerMinute ?? DEFAULT_LIMITS.requestsPerMinute,
    tokens_per_minute: own?.tokensPerMinute ?? DEFAULT_LIMITS.tokensPerMinute,
    in_flight: own?.inFlight ?? DEFAULT_LIMITS.inFlight,
  };
}
