/** API keys of builders. Each has settings that its owner controls, and a secret that can be rotated. */
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import { inTransaction } from "../db/pool.ts";
import { column, queryRow } from "../db/rows.ts";
import { changeKey, type KeyChange, type KeySettings } from "./key-settings.ts";
import { computeFingerprint } from "./peppers.ts";
import { makeSecret } from "./secret-format.ts";
import {
  LimitOverrides,
  openSecretStore,
  SecretRecord,
  type SecretStore,
  type SecretsOptions,
} from "./secret-store.ts";

const ApiKeyRecord = SecretRecord.extend({
  /** Limits that an operator has set for this key. */
  limits: LimitOverrides,
  ownLimits: LimitOverrides,
  budgetDay: column.pico.nullable(),
  budgetMonth: column.pico.nullable(),
  expiresAt: column.moment.nullable(),
  models: z.array(z.string()).nullable(),
  spotChecks: z.boolean(),
  labels: z.boolean(),
  reasoningContent: z.boolean(),
  /** Until when the previous secret works. Null when there is none. */
  previousUntil: column.moment.nullable(),
  /** The identity that created the key. Null when it was not recorded or is deleted. */
  createdById: column.uuid.nullable(),
  createdByName: z.string().nullable(),
  createdByEmail: z.string().nullable(),
});
export type ApiKeyRecord = z.infer<typeof ApiKeyRecord>;

export interface ApiKeys extends SecretStore<ApiKeyRecord> {
  /**
   * Creates a key. `by` is the creator's identity, or null for the platform. Throws `TooManyOpen` at the account's
   * limit.
   */
  create(
    accountId: Uuid,
    key: { name: string; by: Uuid | null; settings?: Partial<KeySettings> },
  ): Promise<{ id: Uuid; token: string }>;
  /**
   * Changes settings. Returns false when the account has no such key or it is revoked. Throws `TooManyOpen` if an
   * expired key would become active again above the account's limit.
   */
  change(accountId: Uuid, id: Uuid, change: KeyChange): Promise<boolean>;
  /**
   * Issues a new secret. The previous one keeps working for `keepOldMs`. Returns undefined when the account has no such
   * key or it is revoked.
   */
  rotate(accountId: Uuid, id: Uuid, keepOldMs: number): Promise<string | undefined>;
  /**
   * Sets an operator's limits; null restores the default. Returns the limits that the owner has set, or undefined when
   * there is no such key or it is revoked.
   */
  setLimits(id: Uuid, limits: LimitOverrides): Promise<LimitOverrides | undefined>;
}

const OVERRIDES = `json_build_object('requestsPerMinute', k.requests_per_minute_max,
  'tokensPerMinute', k.tokens_per_minute_max, 'inFlight', k.in_flight_max)`;
const OWN = `json_build_object('requestsPerMinute', k.own_requests_per_minute,
  'tokensPerMinute', k.own_tokens_per_minute, 'inFlight', k.own_in_flight)`;
/**
 * Read through JSON, because the last release's table lacks these columns. For keys of sessions, `reasoningContent` is
 * always on: they belong to the console's playground, which shows reasoning as it arrives.
 */
const SWITCHES = `coalesce((to_jsonb(k) ->> 'spot_checks')::boolean, true) as "spotChecks",
  coalesce((to_jsonb(k) ->> 'labels')::boolean, false) as labels,
  coalesce((to_jsonb(k) ->> 'reasoning_content')::boolean, false) or k.session_id is not null as "reasoningContent"`;
const ENDS = "least(k.expires_at, case when k.previous_reference = $1 then k.previous_until end)";

const KIND = {
  kind: "tsk",
  table: "api_key",
  holder: `${OVERRIDES} as overrides, ${OWN} as own, k.models, ${SWITCHES}, extract(epoch from ${ENDS})::float8 * 1000 as until`,
  reference: "(k.reference = $1 or k.previous_reference = $1)",
  hash: "case when k.reference = $1 then k.secret_hash else k.previous_hash end",
  madeWith: "case when k.reference = $1 then k.pepper else k.previous_pepper end",
  // Keys of sessions are not listed, because they belong to the console's playground.
  listed: "k.session_id is null",
  ends: "k.expires_at",
  record: {
    schema: ApiKeyRecord,
    columns: `, ${OVERRIDES} as limits, ${OWN} as "ownLimits", k.budget_day_pico as "budgetDay",
      k.budget_month_pico as "budgetMonth", k.expires_at as "expiresAt", k.models, ${SWITCHES},
      case when k.previous_until > now() then k.previous_until end as "previousUntil",
      i.id as "createdById", i.name as "createdByName", i.email as "createdByEmail"`,
    from: "left join identity i on i.id = k.created_by",
  },
} as const;

export function createApiKeyService(options: SecretsOptions): ApiKeys {
  const { pool, clock, random, pepper, keepsPeppers = () => true } = options;
  const secrets = openSecretStore(KIND, options);
  return {
    ...secrets,
    create: (accountId, { name, by, settings = {} }) =>
      secrets.issueWith(accountId, name, async (client, id) => {
        await changeKey(client, { accountId, id }, settings);
        await client.query("update api_key set created_by = $2 where id = $1", [id, by]);
      }),
    async change(accountId, id, change) {
      const act = (client: pg.PoolClient): Promise<boolean> => changeKey(client, { accountId, id }, change);
      // A later expiry can make an expired key active again, so the limit of keys is checked.
      const isDone = await (change.expiresAt === undefined
        ? inTransaction(pool, act)
        : secrets.withRoom(accountId, act));
      await secrets.changed(id);
      return isDone;
    },
    async rotate(accountId, id, keepOldMs) {
      const { token, reference, hash } = makeSecret("tsk", random, pepper);
      const until = keepOldMs === 0 ? null : new Date(clock.now() + keepOldMs);
      const peppers = keepsPeppers()
        ? "pepper = $6, previous_pepper = case when $5::timestamptz is not null then pepper end,"
        : "";
      const { rowCount } = await pool.query(
        `update api_key
            set reference = $3, secret_hash = $4, ${peppers}
                previous_reference = case when $5::timestamptz is not null then reference end,
                previous_hash = case when $5 is not null then secret_hash end,
                previous_until = $5
          where account_id = $1 and id = $2 and revoked_at is null`,
        [accountId, id, reference, hash, until, ...(peppers === "" ? [] : [computeFingerprint(pepper)])],
      );
      await secrets.changed(id);
      return rowCount === 1 ? token : undefined;
    },
    async setLimits(id, { requestsPerMinute, tokensPerMinute, inFlight }) {
      const set = await queryRow(
        pool,
        LimitOverrides,
        `update api_key set requests_per_minute_max = $2, tokens_per_minute_max = $3, in_flight_max = $4
          where id = $1 and revoked_at is null
         returning own_requests_per_minute as "requestsPerMinute", own_tokens_per_minute::float8 as "tokensPerMinute",
                   own_in_flight as "inFlight"`,
        [id, requestsPerMinute, tokensPerMinute, inFlight],
      );
      await secrets.changed(id);
      return set;
    },
  };
}
