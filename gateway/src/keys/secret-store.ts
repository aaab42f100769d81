/**
 * Issues, verifies and revokes API keys and host tokens. The result of a verification is cached: 60 s for a valid
 * secret, at most 60 s for an invalid one, both bounded in number. So a busy key costs no query, and a wrong one at
 * most one query per minute.
 */
import { ACTIVE_HOST_TOKENS_MAX, ACTIVE_KEYS_MAX } from "@tollgate/api/api-limits.ts";
import { describeSecretCountLimit } from "@tollgate/api/console/keys.ts";
import type pg from "pg";
import { z } from "zod";
import type { Clock } from "../base/clock.ts";
import type { NewId, Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import type { Random } from "../base/random.ts";
import { ACCOUNT_TOPIC, type Broadcast } from "../db/broadcast.ts";
import { inTransaction } from "../db/pool.ts";
import { column, queryOne, queryRow, queryRows, row } from "../db/rows.ts";
import { recordLastUse } from "./last-used.ts";
import { matchPepper, type Peppers } from "./peppers.ts";
import { openSecretRehashing } from "./rehashing.ts";
import { bearerToken, computeCacheKey, extractTokenReference, makeSecret, type SecretPrefix } from "./secret-format.ts";

const REMEMBER_MS = 60_000;
const REMEMBERED_MAX = 50_000;

/** The maximum number of active secrets per account, so that no account can fill the database. */
export const ACTIVE_SECRETS_MAX = { api_key: ACTIVE_KEYS_MAX, host_token: ACTIVE_HOST_TOKENS_MAX } as const;

/** The broadcast topics for changed, revoked and rotated secrets. A message contains the secret's ID. */
export const SECRET_CHANGE_TOPICS = { api_key: "api_key_changed", host_token: "host_token_changed" } as const;

/** Limits that were set for one key. Null: the default applies. */
export const LimitOverrides = row({
  requestsPerMinute: column.count.nullable(),
  tokensPerMinute: column.count.nullable(),
  inFlight: column.count.nullable(),
});
export type LimitOverrides = z.infer<typeof LimitOverrides>;

/** The owner and settings of a verified secret. */
const KeyHolder = row({
  id: column.uuid,
  name: z.string(),
  accountId: column.uuid,
  /** Limits that an operator has set. Null for host tokens, like the fields below. */
  overrides: LimitOverrides.nullable(),
  /** Limits that the key's owner has set. */
  own: LimitOverrides.nullable(),
  /** The models that the key may use. Null: all. */
  models: z.array(z.string()).nullable(),
  /** Whether answers to the key's requests may be checked on other hosts' nodes. */
  spotChecks: z.boolean(),
  /** Whether the key's requests may have labels. */
  labels: z.boolean(),
  /** Whether reasoning is also sent in the field `reasoning_content`. */
  reasoningContent: z.boolean(),
  /** When this secret expires, in Unix milliseconds, because its key expires or because it was rotated. */
  until: z.number().nullable(),
});
export type KeyHolder = z.infer<typeof KeyHolder>;

/** Adds the secret's stored hash and, if queried, the pepper that it was hashed with. */
const StoredHolder = KeyHolder.extend({ hash: column.bytes, pepper: z.string().nullable() });

export interface SecretStore<Record extends SecretRecord = SecretRecord> {
  /** Issues a secret. Its token is returned only here. Throws `TooManyOpen` at the account's limit. */
  issue(accountId: Uuid, name: string): Promise<{ id: Uuid; token: string }>;
  /** Returns the holder of the secret in an Authorization header. Undefined if the secret is invalid for any reason. */
  authenticate(authorization: string | undefined): Promise<KeyHolder | undefined>;
  /** Lists an account's secrets: active ones first, then revoked ones, each newest first. */
  list(accountId: Uuid, page: { after?: SecretPageCursor | undefined; limit: number }): Promise<Record[]>;
  /** Finds a secret of the account, or of any account if `accountId` is null. */
  find(accountId: Uuid | null, id: Uuid): Promise<Record | undefined>;
  /** Renames a secret. Returns false when the account has no such secret or it is revoked. */
  rename(accountId: Uuid, id: Uuid, name: string): Promise<boolean>;
  /**
   * Revokes a secret of the account, or of any account if `accountId` is null. Returns false when there is none or it
   * is already revoked.
   */
  revoke(accountId: Uuid | null, id: Uuid): Promise<boolean>;
  close(): Promise<void>;
}

/** Identifies the last secret of the previous page. */
export interface SecretPageCursor {
  id: Uuid;
  revoked: boolean;
}

/** Thrown when the account has reached its limit of active secrets of this kind. */
export class TooManyActiveSecretsError extends Error {
  override name = "TooManyOpen";
  constructor(table: keyof typeof ACTIVE_SECRETS_MAX) {
    super(describeSecretCountLimit(ACTIVE_SECRETS_MAX[table], table === "api_key" ? "API keys" : "host tokens"));
  }
}

/** The fields of a secret that may be shown. */
export const SecretRecord = row({
  id: column.uuid,
  accountId: column.uuid,
  name: z.string(),
  /** The public part of the token, `tsk_live_<reference>_…`. */
  reference: z.string(),
  createdAt: column.moment,
  lastUsedAt: column.moment.nullable(),
  revokedAt: column.moment.nullable(),
});
export type SecretRecord = z.infer<typeof SecretRecord>;

const Open = row({ open: column.count });

export interface SecretsOptions extends Peppers {
  pool: pg.Pool;
  /** Whether the database already has the columns for peppers. */
  keepsPeppers?: () => boolean;
  clock: Clock;
  random: Random;
  newId: NewId;
  log: Log;
  /** Notifies other gateways of revoked secrets. */
  broadcast: Broadcast;
}

/** A kind of secret (API key or host token): its table, and its own fields. */
interface Kind<Record extends SecretRecord> {
  kind: SecretPrefix;
  table: keyof typeof ACTIVE_SECRETS_MAX;
  /** SQL of the holder's fields, with the table's row as `k`. `$1` is the reference of the presented secret. */
  holder: string;
  /** SQL conditions and columns that find the row by its reference, its hash and its pepper. */
  reference: string;
  hash: string;
  madeWith: string;
  /** SQL condition of the rows that an account's list shows. */
  listed: string;
  /** SQL of the expiry, after which a secret does not count as active. */
  ends: string;
  record: { schema: z.ZodType<Record, Record>; columns: string; from: string };
}

interface OpenSecrets<Record extends SecretRecord> extends SecretStore<Record> {
  /**
   * Runs `act`, which may add an active secret, in a transaction. If the account then exceeds its limit, rolls back and
   * throws `TooManyOpen`.
   */
  withRoom<Done>(accountId: Uuid, act: (client: pg.PoolClient) => Promise<Done>): Promise<Done>;
  /** Issues a secret and runs `then` in the same transaction. */
  issueWith(
    accountId: Uuid,
    name: string,
    then: (client: pg.PoolClient, id: Uuid) => Promise<void>,
  ): Promise<{ id: Uuid; token: string }>;
  /** Makes gateways drop a row from their caches. Call it after changing the row. */
  changed(id: Uuid): Promise<void>;
}

export const openHostTokenService = (options: SecretsOptions): SecretStore =>
  openSecretStore(
    {
      kind: "tht",
      table: "host_token",
      holder: `null::json as overrides, null::json as own, null::text[] as models, true as "spotChecks", false as labels,
         false as "reasoningContent", null::float8 as until`,
      reference: "k.reference = $1",
      hash: "k.secret_hash",
      madeWith: "k.pepper",
      listed: "true",
      ends: "null::timestamptz",
      record: { schema: SecretRecord, columns: "", from: "" },
    },
    options,
  );

export function openSecretStore<Record extends SecretRecord>(
  {
    kind,
    table,
    holder: holderColumns,
    reference: finds,
    hash,
    madeWith: hashedWith,
    listed,
    ends,
    record: { schema, columns, from },
  }: Kind<Record>,
  options: SecretsOptions,
): OpenSecrets<Record> {
  const { pool, pepper, clock, random, newId, broadcast } = options;
  const lastUsed = recordLastUse(table, options);
  const rehashing = openSecretRehashing(table, options);
  const record = `select k.id, k.account_id as "accountId", k.name, k.reference, k.created_at as "createdAt",
    k.last_used_at as "lastUsedAt", k.revoked_at as "revokedAt" ${columns} from ${table} k ${from}`;
  const finding = (name: string, withPepper: string) => ({
    name,
    text: `select k.id, k.name, k.account_id as "accountId", ${hash} as hash, ${withPepper} as pepper, ${holderColumns}
             from ${table} k join account a on a.id = k.account_id
            where ${finds} and k.revoked_at is null and a.suspended_at is null`,
  });
  const findHolder = finding(`find_${table}`, "null::text");
  const findWithPepper = finding(`find_${table}_pepper`, hashedWith);
  const remembered = new Map<string, { holder: KeyHolder | undefined; until: number }>();
  /** Incremented at each change of a secret. A row that was read before a change is not cached. */
  let changes = 0;

  /** Drops cached secrets by the ID of the secret or its account. Undefined drops all, because messages were missed. */
  const forget = (id: string | undefined): void => {
    changes += 1;
    if (id === undefined) remembered.clear();
    for (const [cacheKey, { holder }] of remembered) {
      if (holder !== undefined && (holder.id === id || holder.accountId === id)) remembered.delete(cacheKey);
    }
  };
  const topic = SECRET_CHANGE_TOPICS[table];
  broadcast.on(topic, forget);
  broadcast.on(ACCOUNT_TOPIC, (accountId) => {
    forget(accountId);
    // Also drops all rejected secrets: the cache does not know their accounts, and this account may have been restored.
    for (const [cacheKey, { holder }] of remembered) if (holder === undefined) remembered.delete(cacheKey);
  });
  const changed = async (id: Uuid): Promise<void> => {
    forget(id);
    await broadcast.send(topic, id);
  };
  const changedOne = async (id: Uuid, { rowCount }: { rowCount: number | null }): Promise<boolean> => {
    await changed(id);
    return rowCount === 1;
  };

  const lookUp = async (reference: string, token: string): Promise<KeyHolder | undefined> => {
    const query = rehashing.isOn() ? findWithPepper : findHolder;
    const found = await queryRow(pool, StoredHolder, query, [reference]);
    const how = found === undefined ? undefined : matchPepper(found.hash, token, options);
    if (found === undefined || how === undefined) return undefined;
    rehashing.seen({ reference, token, hash: found.hash, madeWith: how, writtenDown: found.pepper });
    // Removes the hash and the pepper, which need not be cached.
    const { hash: _, pepper: __, ...holder } = found;
    return holder;
  };
  /** Rejects a secret that has expired, even if it is cached. */
  const unlessEnded = (holder: KeyHolder | undefined): KeyHolder | undefined =>
    holder === undefined || (holder.until !== null && holder.until <= clock.now()) ? undefined : holder;

  const secrets: OpenSecrets<Record> = {
    issue: (accountId, name) => secrets.issueWith(accountId, name, async () => {}),

    withRoom: (accountId, act) =>
      inTransaction(pool, async (client) => {
        // Locks the account, so that the count of its secrets is exact.
        await client.query("select from account where id = $1 for no key update", [accountId]);
        const done = await act(client);
        const { open } = await queryOne(
          client,
          Open,
          `select count(*)::int as open from ${table} k
            where k.account_id = $1 and k.revoked_at is null and ${listed}
              and (${ends} is null or ${ends} > $2)`,
          [accountId, new Date(clock.now())],
        );
        if (open > ACTIVE_SECRETS_MAX[table]) throw new TooManyActiveSecretsError(table);
        return done;
      }),

    async issueWith(accountId, name, then) {
      const id = newId();
      const { token, reference, hash: hashed } = makeSecret(kind, random, pepper);
      await secrets.withRoom(accountId, async (client) => {
        await client.query(
          `insert into ${table} (id, account_id, name, reference, secret_hash) values ($1, $2, $3, $4, $5)`,
          [id, accountId, name, reference, hashed],
        );
        await rehashing.issued(client, reference);
        await then(client, id);
      });
      return { id, token };
    },

    async authenticate(authorization) {
      const token = bearerToken(authorization);
      if (token === undefined) return undefined;
      const reference = extractTokenReference(kind, token);
      if (reference === undefined) return undefined;
      const cacheKey = computeCacheKey(token, pepper);
      const now = clock.monotonic();
      const known = remembered.get(cacheKey);
      if (known !== undefined && known.until > now) {
        const holder = unlessEnded(known.holder);
        if (holder !== undefined) lastUsed.touch(holder.id);
        return holder;
      }
      const before = changes;
      const found = await lookUp(reference, token);
      remembered.delete(cacheKey);
      if (before === changes) {
        // If the cache is full, removes its oldest entry. A Map keeps the order of insertion, so that is the first key.
        if (remembered.size >= REMEMBERED_MAX) remembered.delete(remembered.keys().next().value as string);
        remembered.set(cacheKey, { holder: found, until: now + REMEMBER_MS });
      }
      const holder = unlessEnded(found);
      if (holder !== undefined) lastUsed.touch(holder.id);
      return holder;
    },

    list: (accountId, { after, limit }) =>
      queryRows(
        pool,
        schema,
        `${record} where k.account_id = $1 and ${listed}
            and ($2::boolean is null or (k.revoked_at is not null) > $2 or ((k.revoked_at is not null) = $2 and k.id < $3))
          order by k.revoked_at is not null, k.id desc limit $4`,
        [accountId, after?.revoked ?? null, after?.id ?? null, limit],
      ),
    find: (accountId, id) =>
      queryRow(pool, schema, `${record} where ($1::uuid is null or k.account_id = $1) and k.id = $2 and ${listed}`, [
        accountId,
        id,
      ]),
    rename: async (accountId, id, name) =>
      changedOne(
        id,
        await pool.query(`update ${table} set name = $3 where account_id = $1 and id = $2 and revoked_at is null`, [
          accountId,
          id,
          name,
        ]),
      ),
    revoke: async (accountId, id) =>
      changedOne(
        id,
        await pool.query(
          `update ${table} set revoked_at = now()
            where id = $2 and ($1::uuid is null or account_id = $1) and revoked_at is null`,
          [accountId, id],
        ),
      ),
    changed,
    async close() {
      await rehashing.idle();
      await lastUsed.close();
    },
  };
  return secrets;
}
