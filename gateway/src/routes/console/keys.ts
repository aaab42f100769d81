/** A builder's API keys: list, create (the secret is shown once), change, rotate, revoke. */
import type { ApiKey, KeyFields, keyRoutes } from "@tollgate/api/console/keys.ts";
import type { z } from "zod";
import type { Membership } from "../../accounts/accounts.ts";
import { parseId, publicId, type Uuid } from "../../base/ids.ts";
import { invariant } from "../../base/invariant.ts";
import { formatExactMicrodollars, type Pico, parseMicroAsPico, ZERO } from "../../base/money.ts";
import { startOfDay, startOfMonth, toUnixSeconds } from "../../base/time.ts";
import { invalidRequest, ruleViolation } from "../../faults.ts";
import type { HourlySum } from "../../history/hourly-sums.ts";
import type { HistoryServices } from "../../history/services.ts";
import { makeRoleRequiredFault } from "../../http/guards.ts";
import type { Handlers } from "../../http/serve-routes.ts";
import type { InferenceServices } from "../../inference/services.ts";
import type { ApiKeyRecord } from "../../keys/api-keys.ts";
import { findLoosenedLimit, type KeyChange } from "../../keys/key-settings.ts";
import { type LimitOverrides, TooManyActiveSecretsError } from "../../keys/secret-store.ts";
import type { KeyServices } from "../../keys/services.ts";
import { computeEffectiveLimits, findHighestOwnerLimits, type KeyLimits } from "../../limits/limits.ts";
import type { SiteServices } from "../services.ts";
import { readSecretsPage } from "./secrets-page.ts";

/** The fields of a key that the request contains. */
type Fields = { [Name in keyof z.output<typeof KeyFields>]?: z.output<typeof KeyFields>[Name] | undefined };

/** The spending of each API key, by key ID. */
interface KeySpend {
  today: Map<Uuid, HourlySum>;
  month: Map<Uuid, HourlySum>;
}

export function keyHandlers(
  parts: Pick<KeyServices, "apiKeys"> &
    Pick<HistoryServices, "usage"> &
    Pick<InferenceServices, "catalogue"> &
    Pick<SiteServices, "cursors" | "now">,
): Handlers<typeof keyRoutes> {
  const { apiKeys, usage, catalogue, cursors, now } = parts;
  const spendOf = async (accountId: Uuid): Promise<KeySpend> => {
    const [today, month] = await Promise.all([
      usage.byKey(accountId, startOfDay(now())),
      usage.byKey(accountId, startOfMonth(now())),
    ]);
    return { today, month };
  };
  const find = async (accountId: Uuid, id: string): Promise<ApiKeyRecord | undefined> => {
    const uuid = parseId("key", id);
    return uuid === undefined ? undefined : await apiKeys.find(accountId, uuid);
  };
  const shown = async (accountId: Uuid, id: Uuid): Promise<z.input<typeof ApiKey>> => {
    const record = await apiKeys.find(accountId, id);
    invariant(record !== undefined, "a key that was there is there: none is ever deleted");
    return keyObject(record, await spendOf(accountId));
  };
  /** A key may keep its models, even if the catalogue no longer has them. */
  const settings = (fields: Fields, ceiling: KeyLimits, had: string[] = []): KeyChange =>
    changeOf(fields, { ceiling, models: new Set([...had, ...catalogue().entries.map(({ id }) => id)]), now: now() });
  return {
    async listKeys({ account, query }) {
      const spend = await spendOf(account.id);
      const show = (record: ApiKeyRecord) => keyObject(record, spend);
      const list = `keys ${account.id}`;
      return readSecretsPage({ secrets: apiKeys, cursors, list, accountId: account.id, query, show });
    },

    async getKey({ account, params, refuse }) {
      const found = await find(account.id, params.id);
      if (found === undefined) throw refuse("not_found");
      return keyObject(found, await spendOf(account.id));
    },

    async createKey({ who, account, body, refuse }) {
      const { name, ...fields } = body();
      const key = { name, by: who.identityId, settings: settings(fields, findHighestOwnerLimits(null)) };
      const { id, token } = await apiKeys.create(account.id, key).catch((cause) => {
        throw cause instanceof TooManyActiveSecretsError ? refuse("limit_reached", { cause }) : cause;
      });
      return { ...(await shown(account.id, id)), secret: token };
    },

    async changeKey({ who, account, params, body, refuse }) {
      const found = await find(account.id, params.id);
      if (found === undefined) throw refuse("not_found");
      requireOwnKey(account, who, found);
      const change = settings(body(), findHighestOwnerLimits(found.limits), found.models ?? []);
      const looser = account.role === "owner" ? undefined : findLoosenedLimit(found, change);
      if (looser !== undefined) throw makeRoleRequiredFault("own", onlyOwnersLoosen(looser));
      if (Object.keys(change).length === 0)
        throw invalidRequest("name", `"name" or one of these fields is required: ${SETTINGS}`);
      const isDone = await apiKeys.change(account.id, found.id, change).catch((cause) => {
        throw cause instanceof TooManyActiveSecretsError ? refuse("limit_reached", { cause }) : cause;
      });
      if (!isDone) throw refuse("not_found", REVOKED);
      return await shown(account.id, found.id);
    },

    async rotateKey({ who, account, params, body, refuse }) {
      const found = await find(account.id, params.id);
      if (found === undefined) throw refuse("not_found");
      requireOwnKey(account, who, found);
      const secret = await apiKeys.rotate(account.id, found.id, body().keep_old_s * 1000);
      if (secret === undefined) throw refuse("not_found", REVOKED);
      return { ...(await shown(account.id, found.id)), secret };
    },

    // Any member may revoke any key, because a leaked key must end at once.
    async revokeKey({ account, params, refuse }) {
      const found = await find(account.id, params.id);
      if (found === undefined) throw refuse("not_found");
      // Revoking a key again changes nothing and is not an error.
      await apiKeys.revoke(account.id, found.id);
      return await shown(account.id, found.id);
    },
  };
}

/**
 * Owners may change every key of the account. Members may only change keys that they created, because a rotation shows
 * the new secret.
 */
function requireOwnKey({ role }: Membership, who: { identityId: Uuid }, key: ApiKeyRecord): void {
  if (role !== "owner" && key.createdById !== who.identityId)
    throw makeRoleRequiredFault(
      "own",
      "Only an owner of the account, or the member who created this key, can change or rotate it.",
    );
}

const onlyOwnersLoosen = (field: string): string =>
  `Only an owner of the account can make ${field} of a key less strict. Members can make it stricter.`;

const SETTINGS =
  "budget_day_micro, budget_month_micro, expires_at, models, spot_checks, labels, reasoning_content, limits";
const REVOKED = { message: "This key is revoked and cannot be changed." };

/** Converts a form's fields to a change of a key. Throws a 400 that names the first invalid field. */
function changeOf(fields: Fields, rules: { ceiling: KeyLimits; models: Set<string>; now: number }): KeyChange {
  const {
    name,
    budget_day_micro: day,
    budget_month_micro: month,
    expires_at: end,
    models,
    spot_checks,
    labels,
    reasoning_content,
    limits,
  } = fields;
  if (end != null && end * 1000 <= rules.now) {
    throw ruleViolation("expires_at", "must be in the future; to end a key now, revoke it");
  }
  for (const [index, model] of (models ?? []).entries()) {
    if (!rules.models.has(model)) {
      throw ruleViolation(`models[${index}]`, `must be the ID of a model in the catalogue`);
    }
  }
  return {
    ...(name !== undefined && { name }),
    ...(day !== undefined && { budgetDay: amountOf(day) }),
    ...(month !== undefined && { budgetMonth: amountOf(month) }),
    ...(spot_checks !== undefined && { spotChecks: spot_checks }),
    ...(labels !== undefined && { labels }),
    ...(reasoning_content !== undefined && { reasoningContent: reasoning_content }),
    ...(end !== undefined && { expiresAt: end === null ? null : new Date(end * 1000) }),
    ...(models !== undefined && { models: models === null ? null : [...new Set(models)] }),
    ...(limits !== undefined && { ownLimits: ownLimits(limits, rules.ceiling) }),
  };
}

const amountOf = (micro: string | null): Pico | null => (micro === null ? null : parseMicroAsPico(micro));

const LIMIT_FIELDS = [
  ["requests_per_minute", "requestsPerMinute"],
  ["tokens_per_minute", "tokensPerMinute"],
  ["in_flight", "inFlight"],
] as const;

function ownLimits(
  limits: NonNullable<z.output<typeof KeyFields>["limits"]> | null,
  ceiling: KeyLimits,
): Partial<LimitOverrides> {
  const own: Partial<LimitOverrides> = {};
  for (const [field, name] of LIMIT_FIELDS) {
    const limit = limits === null ? null : limits[field];
    if (limit === undefined) continue;
    if (limit !== null && limit > ceiling[name]) {
      throw ruleViolation(`limits.${field}`, `must be ${ceiling[name]} or less, or null`);
    }
    own[name] = limit;
  }
  return own;
}

export function keyObject(record: ApiKeyRecord, spend: KeySpend): z.input<typeof ApiKey> {
  const { id, name, reference, limits: overrides, ownLimits: own } = record;
  const { createdByName, createdByEmail } = record;
  return {
    id: publicId("key", id),
    object: "api_key",
    name,
    start: `tsk_live_${reference}`,
    limits: limitsObject(computeEffectiveLimits({ overrides, own })),
    limits_set: limitsObject(own),
    limits_max: limitsObject(findHighestOwnerLimits(overrides)),
    budget_day_micro: record.budgetDay === null ? null : formatExactMicrodollars(record.budgetDay),
    budget_month_micro: record.budgetMonth === null ? null : formatExactMicrodollars(record.budgetMonth),
    spend_today: spendObject(spend.today.get(id)),
    spend_this_month: spendObject(spend.month.get(id)),
    models: record.models,
    spot_checks: record.spotChecks,
    labels: record.labels,
    reasoning_content: record.reasoningContent,
    expires_at: secondsOrNull(record.expiresAt),
    old_secret_until: secondsOrNull(record.previousUntil),
    created_by:
      createdByName === null || createdByEmail === null ? null : { name: createdByName, email: createdByEmail },
    created_at: toUnixSeconds(record.createdAt),
    last_used_at: secondsOrNull(record.lastUsedAt),
    revoked_at: secondsOrNull(record.revokedAt),
  };
}

const secondsOrNull = (moment: Date | null): number | null => (moment === null ? null : toUnixSeconds(moment));

const spendObject = (spend: HourlySum | undefined) => ({
  requests: spend?.requests ?? 0,
  charge_micro: formatExactMicrodollars(spend?.amount ?? ZERO),
});

export const limitsObject = <Limit extends number | null>(limits: { [Name in keyof KeyLimits]: Limit }) => ({
  requests_per_minute: limits.requestsPerMinute,
  tokens_per_minute: limits.tokensPerMinute,
  in_flight: limits.inFlight,
});
