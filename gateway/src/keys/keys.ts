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
import { invariant } from "../base/invariant.ts";
import type { Log } from "../base/log.ts";
import type { Random } from "../base/random.ts";
import { ACCOUNT_TOPIC, type Broadcast } from "../db/broadcast.ts";
import { inTransaction } from "../db/pool.ts";
import { column, queryOne, queryRow, queryRows, row } from "../db/rows.ts";
import { keepLastUsed } from "./last-used.ts";
import { bearerToken, cacheKeyOf, hashToken, makeSecret, referenceOf, type SecretKind, sameHash } from "./secrets.ts";

const REMEMBER_MS = 60_000;
const REMEMBERED_MAX = 50_000;

/** How many secrets of an account may work at once: more than anybody needs, and an end to what one account can fill. */
export const OPEN_MAX = { api_key: OPEN_KEYS_MAX, host_token: OPEN_HOST_TOKENS_MAX } as const;

/** Limits that an operator set for one key; null where the default holds. */
const LimitOverrides = row({
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
  /** Null for a host token. */
  overrides: LimitOverrides.nullable(),
});
export type Holder = z.infer<typeof Holder>;

/** With the hash that the secret is compared with. */
const StoredHolder = Holder.extend({ hash: column.bytes });

export interface Secrets {
  /** The token is returned here and never again. Throws `TooManyOpen` where the account has as many as it may. */
  issue(accountId: Uuid, name: string): Promise<{ id: Uuid; token: string }>;
  /** The holder behind an Authorization header; undefined for every reason it may not act. */
  authenticate(authorization: string | undefined): Promise<Holder | undefined>;
  /** An account's secrets: those that work, then those that were revoked, each the newest first. */
  list(accountId: Uuid, page: { after?: SecretPosition | undefined; limit: number }): Promise<SecretRecord[]>;
  find(accountId: Uuid, id: Uuid): Promise<SecretRecord | undefined>;
  /** False when the account has no such secret, or it is revoked. */
  rename(accountId: Uuid, id: Uuid, name: string): Promise<boolean>;
  /** `accountId` null: whosever it is. False when there is none, or it is revoked already. */
  revoke(accountId: Uuid | null, id: Uuid): Promise<boolean>;
  /** The operator's own limits for one API key; null where the default shall hold. */
  setLimits(id: Uuid, limits: LimitOverrides): Promise<boolean>;
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
const SecretRecord = row({
  id: column.uuid,
  accountId: column.uuid,
  name: z.string(),
  /** The public part of the token, `tsk_live_<reference>_…`. */
  reference: z.string(),
  limits: LimitOverrides.nullable(),
  createdAt: column.moment,
  lastUsedAt: column.moment.nullable(),
  revokedAt: column.moment.nullable(),
});
export type SecretRecord = z.infer<typeof SecretRecord>;

const Open = row({ open: column.count });

interface Options {
  pool: pg.Pool;
  pepper: string;
  clock: Clock;
  random: Random;
  newId: NewId;
  log: Log;
  /** How gateways tell each other that a secret was revoked. */
  broadcast: Broadcast;
}

const OVERRIDES = `json_build_object('requestsPerMinute', k.requests_per_minute_max,
  'tokensPerMinute', k.tokens_per_minute_max, 'inFlight', k.in_flight_max)`;

export const openApiKeys = (options: Options): Secrets => openSecrets("tsk", "api_key", OVERRIDES, options);
export const openHostTokens = (options: Options): Secrets => openSecrets("tht", "host_token", "null::json", options);

function openSecrets(kind: SecretKind, table: "api_key" | "host_token", overrides: string, options: Options): Secrets {
  const { pool, pepper, clock, random, newId, broadcast } = options;
  const lastUsed = keepLastUsed(table, options);
  const record = `select k.id, k.account_id as "accountId", k.name, k.reference, ${overrides} as limits,
    k.created_at as "createdAt", k.last_used_at as "lastUsedAt", k.revoked_at as "revokedAt" from ${table} k`;
  const findHolder = {
    name: `find_${table}`,
    text: `select k.id, k.name, k.account_id as "accountId", k.secret_hash as hash, ${overrides} as overrides
             from ${table} k join account a on a.id = k.account_id
            where k.reference = $1 and k.revoked_at is null and a.suspended_at is null`,
  };
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
  const topic = `${table}_changed`;
  broadcast.on(topic, forget);
  broadcast.on(ACCOUNT_TOPIC, (accountId) => {
    forget(accountId);
    // Whose a rejected secret is was not kept: it may be of an account that is restored now.
    for (const [cacheKey, { holder }] of remembered) if (holder === undefined) remembered.delete(cacheKey);
  });
  const changed = async (id: Uuid, { rowCount }: { rowCount: number | null }): Promise<boolean> => {
    forget(id);
    await broadcast.send(topic, id);
    return rowCount === 1;
  };

  const lookUp = async (reference: string, hash: Buffer): Promise<Holder | undefined> => {
    const found = await queryRow(pool, StoredHolder, findHolder, [reference]);
    if (found === undefined || !sameHash(found.hash, hash)) return undefined;
    // Not the whole row: it is remembered, and the hash need not be.
    return { id: found.id, name: found.name, accountId: found.accountId, overrides: found.overrides };
  };

  return {
    async issue(accountId, name) {
      const id = newId();
      const { token, reference, hash } = makeSecret(kind, random, pepper);
      await inTransaction(pool, async (client) => {
        // One at a time for each account, so that the count holds.
        await client.query("select from account where id = $1 for no key update", [accountId]);
        const { open } = await queryOne(
          client,
          Open,
          `select count(*)::int as open from ${table} where account_id = $1 and revoked_at is null`,
          [accountId],
        );
        if (open >= OPEN_MAX[table]) throw new TooManyOpen(table);
        await client.query(
          `insert into ${table} (id, account_id, name, reference, secret_hash) values ($1, $2, $3, $4, $5)`,
          [id, accountId, name, reference, hash],
        );
      });
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
        if (known.holder !== undefined) lastUsed.touch(known.holder.id);
        return known.holder;
      }
      const before = changes;
      const holder = await lookUp(reference, hashToken(token, pepper));
      remembered.delete(cacheKey);
      if (before === changes) {
        // The oldest goes first: a Map keeps the order of insertion.
        if (remembered.size >= REMEMBERED_MAX) remembered.delete(remembered.keys().next().value as string);
        remembered.set(cacheKey, { holder, until: now + REMEMBER_MS });
      }
      if (holder !== undefined) lastUsed.touch(holder.id);
      return holder;
    },

    list: (accountId, { after, limit }) =>
      queryRows(
        pool,
        SecretRecord,
        `${record} where k.account_id = $1
            and ($2::boolean is null or (k.revoked_at is not null) > $2 or ((k.revoked_at is not null) = $2 and k.id < $3))
          order by k.revoked_at is not null, k.id desc limit $4`,
        [accountId, after?.revoked ?? null, after?.id ?? null, limit],
      ),
    find: (accountId, id) =>
      queryRow(pool, SecretRecord, `${record} where k.account_id = $1 and k.id = $2`, [accountId, id]),
    rename: async (accountId, id, name) =>
      changed(
        id,
        await pool.query(`update ${table} set name = $3 where account_id = $1 and id = $2 and revoked_at is null`, [
          accountId,
          id,
          name,
        ]),
      ),
    revoke: async (accountId, id) =>
      changed(
        id,
        await pool.query(
          `update ${table} set revoked_at = now()
            where id = $2 and ($1::uuid is null or account_id = $1) and revoked_at is null`,
          [accountId, id],
        ),
      ),
    async setLimits(id, { requestsPerMinute, tokensPerMinute, inFlight }) {
      invariant(table === "api_key", "a host token has no limits");
      const set = await pool.query(
        `update api_key set requests_per_minute_max = $2, tokens_per_minute_max = $3, in_flight_max = $4
          where id = $1 and revoked_at is null`,
        [id, requestsPerMinute, tokensPerMinute, inFlight],
      );
      return changed(id, set);
    },

    close: () => lastUsed.close(),
  };
}
