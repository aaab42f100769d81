/**
 * API keys and host tokens: issue, verify, revoke. Verification is cached (good ones for 60 s, bad ones for at most 60 s,
 * both bounded in number), so that a busy key costs no query and a wrong one no more than a query a minute.
 */
import { OPEN_HOST_TOKENS_MAX, OPEN_KEYS_MAX } from "@tollgate/api/bounds.ts";
import { tooManySecrets } from "@tollgate/api/console/keys.ts";
import type pg from "pg";
import { z } from "zod";
import type { Clock } from "../base/clock.ts";
import type { NewId, Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import type { Random } from "../base/random.ts";
import { ACCOUNT_TOPIC, type Broadcast } from "../db/broadcast.ts";
import { inTransaction } from "../db/pool.ts";
import { column, queryOne, queryRow, queryRows, row } from "../db/rows.ts";
import { keepLastUsed } from "./last-used.ts";
import { madeWith, type Peppers } from "./peppers.ts";
import { openRehashing } from "./rehashing.ts";
import { bearerToken, cacheKeyOf, makeSecret, referenceOf, type SecretKind } from "./secrets.ts";

const REMEMBER_MS = 60_000;
const REMEMBERED_MAX = 50_000;

/** How many secrets of an account may work at once: more than anyone needs, and an end to what one account can fill. */
export const OPEN_MAX = { api_key: OPEN_KEYS_MAX, host_token: OPEN_HOST_TOKENS_MAX } as const;

/** A secret was changed, revoked or given a new one: its id. */
export const CHANGED = { api_key: "api_key_changed", host_token: "host_token_changed" } as const;

/** Limits that someone set for one key; null where nothing was. */
export const LimitOverrides = row({
  requestsPerMinute: column.count.nullable(),
  tokensPerMinute: column.count.nullable(),
  inFlight: column.count.nullable(),
});
export type LimitOverrides = z.infer<typeof LimitOverrides>;

/** Whom a verified secret acts for. */
const Holder = row({
  id: column.uuid,
  name: z.string(),
  accountId: column.uuid,
  /** What an operator set. Null for a host token, as all that follows. */
  overrides: LimitOverrides.nullable(),
  /** What the key's owner set. */
  own: LimitOverrides.nullable(),
  /** The models that it may ask for; null: every one. */
  models: z.array(z.string()).nullable(),
  /** Whether its answers may be checked by a second host. */
  spotChecks: z.boolean(),
  /** Whether its requests may have labels. */
  labels: z.boolean(),
  /** Whether thinking is also sent in `reasoning_content`. */
  reasoningContent: z.boolean(),
  /** When this secret ends, in Unix milliseconds: with its key, or because the key has a newer one. */
  until: z.number().nullable(),
});
export type Holder = z.infer<typeof Holder>;

/** With the hash that the secret is compared with, and which pepper it was made with where that is asked for. */
const StoredHolder = Holder.extend({ hash: column.bytes, pepper: z.string().nullable() });

export interface Secrets<Record extends SecretRecord = SecretRecord> {
  /** The token is returned here and never again. Throws `TooManyOpen` where the account has as many as it may. */
  issue(accountId: Uuid, name: string): Promise<{ id: Uuid; token: string }>;
  /** The holder behind an Authorization header; undefined for every reason it may not act. */
  authenticate(authorization: string | undefined): Promise<Holder | undefined>;
  /** An account's secrets: those that work, then those that were revoked, each newest first. */
  list(accountId: Uuid, page: { after?: SecretPosition | undefined; limit: number }): Promise<Record[]>;
  /** `accountId` null: whosever it is. */
  find(accountId: Uuid | null, id: Uuid): Promise<Record | undefined>;
  /** False when the account has no such secret, or it is revoked. */
  rename(accountId: Uuid, id: Uuid, name: string): Promise<boolean>;
  /** `accountId` null: whosever it is. False when there is none, or it is revoked already. */
  revoke(accountId: Uuid | null, id: Uuid): Promise<boolean>;
  close(): Promise<void>;
}

/** Where a page of a list continues: after this one, as it was when it was shown. */
export interface SecretPosition {
  id: Uuid;
  revoked: boolean;
}

/** The account has as many secrets of the kind as may work at once. */
export class TooManyOpen extends Error {
  override name = "TooManyOpen";
  constructor(table: keyof typeof OPEN_MAX) {
    super(tooManySecrets(OPEN_MAX[table], table === "api_key" ? "API keys" : "host tokens"));
  }
}

/** What may be shown of a secret. */
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
  /** Whether the database has columns for which pepper a hash was made with, by now. */
  keepsPeppers?: () => boolean;
  clock: Clock;
  random: Random;
  newId: NewId;
  log: Log;
  /** How gateways tell each other that a secret was revoked. */
  broadcast: Broadcast;
  /** Keeps the row as it is now, in case the database loses it. Resolves when that is written. */
  journal?: (table: keyof typeof OPEN_MAX, id: Uuid) => Promise<void>;
}

/** A kind of secret: its table, and what its holders and records have beside what every secret has. */
interface Kind<Record extends SecretRecord> {
  kind: SecretKind;
  table: keyof typeof OPEN_MAX;
  /** Columns of `k` that make the rest of a holder. The secret that was shown is `$1`, by its reference. */
  holder: string;
  /** Which rows a reference finds, the hash that the secret must have, and the pepper it was made with. */
  reference: string;
  hash: string;
  madeWith: string;
  /** Which rows are the account's own: those it sees. */
  listed: string;
  /** When one ends by itself; one that has ended does not count. */
  ends: string;
  record: { schema: z.ZodType<Record, Record>; columns: string; from: string };
}

interface OpenSecrets<Record extends SecretRecord> extends Secrets<Record> {
  /**
   * Does what may leave the account with one more secret that works, in one transaction. Throws `TooManyOpen` where that is
   * one too many; then nothing is done.
   */
  withRoom<Done>(accountId: Uuid, act: (client: pg.PoolClient) => Promise<Done>): Promise<Done>;
  /** `then` is done in the same transaction. */
  issueWith(
    accountId: Uuid,
    name: string,
    then: (client: pg.PoolClient, id: Uuid) => Promise<void>,
  ): Promise<{ id: Uuid; token: string }>;
  /** To be called when a row was changed: gateways forget what they know of it. */
  changed(id: Uuid): Promise<void>;
}

export const openHostTokens = (options: SecretsOptions): Secrets =>
  openSecrets(
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

export function openSecrets<Record extends SecretRecord>(
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
  const { pool, pepper, clock, random, newId, broadcast, journal } = options;
  const lastUsed = keepLastUsed(table, options);
  const rehashing = openRehashing(table, options);
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
  const remembered = new Map<string, { holder: Holder | undefined; until: number }>();
  /** Grows with every change that was heard of: what was read before one is not remembered after it. */
  let changes = 0;

  /** By the secret's id or its account's. Undefined after a gap in the broadcast: any of them may have changed. */
  const forget = (id: string | undefined): void => {
    changes += 1;
    if (id === undefined) remembered.clear();
    for (const [cacheKey, { holder }] of remembered) {
      if (holder !== undefined && (holder.id === id || holder.accountId === id)) remembered.delete(cacheKey);
    }
  };
  const topic = CHANGED[table];
  broadcast.on(topic, forget);
  broadcast.on(ACCOUNT_TOPIC, (accountId) => {
    forget(accountId);
    // Whose a rejected secret is was not kept: it may be of an account that is restored now.
    for (const [cacheKey, { holder }] of remembered) if (holder === undefined) remembered.delete(cacheKey);
  });
  const changed = async (id: Uuid): Promise<void> => {
    forget(id);
    await broadcast.send(topic, id);
    await journal?.(table, id);
  };
  const changedOne = async (id: Uuid, { rowCount }: { rowCount: number | null }): Promise<boolean> => {
    await changed(id);
    return rowCount === 1;
  };

  const lookUp = async (reference: string, token: string): Promise<Holder | undefined> => {
    const query = rehashing.isOn() ? findWithPepper : findHolder;
    const found = await queryRow(pool, StoredHolder, query, [reference]);
    const how = found === undefined ? undefined : madeWith(found.hash, token, options);
    if (found === undefined || how === undefined) return undefined;
    rehashing.seen({ reference, token, hash: found.hash, madeWith: how, writtenDown: found.pepper });
    // Not the whole row: it is remembered, and the hash need not be.
    const { hash: _, pepper: __, ...holder } = found;
    return holder;
  };
  /** A secret that has ended is as good as none, also one that is remembered. */
  const unlessEnded = (holder: Holder | undefined): Holder | undefined =>
    holder === undefined || (holder.until !== null && holder.until <= clock.now()) ? undefined : holder;

  const secrets: OpenSecrets<Record> = {
    issue: (accountId, name) => secrets.issueWith(accountId, name, async () => {}),

    withRoom: (accountId, act) =>
      inTransaction(pool, async (client) => {
        // One at a time for each account, so that the count holds.
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
        if (open > OPEN_MAX[table]) throw new TooManyOpen(table);
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
      await journal?.(table, id);
      return { id, token };
    },

    async authenticate(authorization) {
      const token = bearerToken(authorization);
      if (token === undefined) return undefined;
      const reference = referenceOf(kind, token);
      if (reference === undefined) return undefined;
      const cacheKey = cacheKeyOf(token, pepper);
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
        // The oldest goes first: a Map keeps the order of insertion.
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
