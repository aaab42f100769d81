/**
 * Counts calls that were refused with a 4xx status, per account, key, code and hour, with the last 20 as examples.
 * Counts are kept in memory and written every few seconds, so a flood is cheap. A killed gateway loses unwritten
 * counts.
 */
import type pg from "pg";
import type { Clock } from "../base/clock.ts";
import type { Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import { DAY_MS, HOUR_MS } from "../base/time.ts";
import { formatTextArray, formatUnquotedArray } from "../db/arrays.ts";
import { isDatabaseUnreachable } from "../db/errors.ts";
import { queryRows } from "../db/rows.ts";
import { RecentRefusedCalls, RefusedCallSum } from "./refused-call-rows.ts";

/** The migration that creates the tables. */
export const REFUSED_CALLS_MIGRATION = 45;
export const REFUSED_CALLS_KEPT_MS = 7 * DAY_MS;

const WRITE_EVERY_MS = 5_000;
const EXAMPLES_MAX = 20;
/** The number of counts in memory above which they are written early. */
const TALLIES_DUE = 2_000;
/** The most counts in memory while the database is unreachable. Further calls are not counted. */
const TALLIES_MAX = 20_000;
const EXAMPLES_HELD_MAX = 10_000;
const MESSAGE_CHARS_MAX = 300;
/** The form of valid model names. Other names are not stored, because a client may send anything. */
const MODEL_NAME = /^[\w.:/-]{1,100}$/;

/**
 * The key of a call. For an invalid secret: only the key reference in it, by which the database may find the account.
 */
type RefusedBy = { id: Uuid; accountId: Uuid } | { reference: string };

export interface RefusedCall {
  code: string;
  status: number;
  model: string | null;
  /** Contains no text from the client. */
  message: string;
}

interface Example {
  at: number;
  model: string | null;
  message: string;
}

interface Tally {
  by: RefusedBy;
  code: string;
  status: number;
  hour: number;
  requests: number;
  lastAt: number;
  /** Newest last. */
  examples: Example[];
}

export interface RefusedCalls {
  /** Counts a refused call. Returns without waiting for the database. */
  note(by: RefusedBy, call: RefusedCall): void;
  /** Sums over whole hours, starting with the hour that contains `from`. */
  sums(accountId: Uuid, span: { from: Date; to: Date }): Promise<RefusedCallSum[]>;
  /** The last 20 calls of each code, newest first. */
  examples(accountId: Uuid): Promise<RecentRefusedCalls[]>;
  flush(): Promise<void>;
  /** Deletes records older than 7 days. */
  prune(): Promise<void>;
  close(): Promise<void>;
}

interface Options {
  pool: pg.Pool;
  clock: Clock;
  log: Log;
  /** Whether the database has the tables yet. */
  isThere?: () => boolean;
}

export function openRefusedCallCounts({ pool, clock, log, isThere = () => true }: Options): RefusedCalls {
  let tallies = new Map<string, Tally>();
  let held = 0;
  let uncounted = 0;
  let writing: Promise<void> | undefined;

  const add = (tally: Tally): void => {
    const name = `${"id" in tally.by ? tally.by.id : tally.by.reference} ${tally.hour} ${tally.code}`;
    let known = tallies.get(name);
    if (known === undefined) {
      if (tallies.size >= TALLIES_MAX) {
        uncounted += tally.requests;
        return;
      }
      known = { ...tally, requests: 0, examples: [] };
      tallies.set(name, known);
    }
    known.requests += tally.requests;
    known.lastAt = Math.max(known.lastAt, tally.lastAt);
    for (const example of tally.examples) {
      if (known.examples.length < EXAMPLES_MAX && held >= EXAMPLES_HELD_MAX) return;
      known.examples.push(example);
      if (known.examples.length > EXAMPLES_MAX) known.examples.shift();
      else held += 1;
    }
  };

  const write = async (): Promise<void> => {
    if (tallies.size === 0 || !isThere()) return;
    const batch = [...tallies.values()];
    const missed = uncounted;
    tallies = new Map();
    held = 0;
    uncounted = 0;
    try {
      await writeBatch(pool, batch, clock.now() - REFUSED_CALLS_KEPT_MS);
    } catch (error) {
      // The write failed: keeps the counts for the next write, before newer ones.
      const newer = [...tallies.values()];
      tallies = new Map();
      held = 0;
      for (const tally of [...batch, ...newer]) add(tally);
      uncounted += missed;
      throw error;
    }
    if (missed > 0)
      log.warn(
        { calls: missed },
        "too many refused API calls to count each one; the counts of refused calls are too low",
      );
  };
  /**
   * Writes one batch at a time, so that rows are locked in one order and memory holds a single batch besides the
   * counts.
   */
  const flush = (): Promise<void> => {
    const turn = (writing ?? Promise.resolve()).then(write, write).finally(() => {
      if (writing === turn) writing = undefined;
    });
    writing = turn;
    return turn;
  };
  const tryToFlush = (): Promise<void> =>
    flush().catch((error) =>
      log[isDatabaseUnreachable(error) ? "debug" : "warn"](
        { err: error },
        "could not save the counts of refused API calls; retrying",
      ),
    );
  const flushUnlessBusy = (): void => {
    if (writing === undefined) void tryToFlush();
  };
  const stop = clock.every(WRITE_EVERY_MS, flushUnlessBusy);

  return {
    note(by, { code, status, model, message }) {
      const now = clock.now();
      const example = {
        at: now,
        model: model !== null && MODEL_NAME.test(model) ? model : null,
        message: message.slice(0, MESSAGE_CHARS_MAX),
      };
      const hour = Math.floor(now / HOUR_MS) * HOUR_MS;
      add({ by, code, status, hour, requests: 1, lastAt: now, examples: [example] });
      if (tallies.size >= TALLIES_DUE) flushUnlessBusy();
    },
    async sums(accountId, { from, to }) {
      if (!isThere()) return [];
      return await queryRows(
        pool,
        RefusedCallSum,
        `select r.key_id as "keyId", k.name as "keyName", r.code, min(r.status) as status, sum(r.requests)::float8 as requests,
                max(r.last_at) as "lastAt"
           from refused_hour r join api_key k on k.id = r.key_id
          where r.account_id = $1 and r.hour >= date_trunc('hour', $2::timestamptz) and r.hour < $3
          group by r.key_id, k.name, r.code order by 5 desc, 3, 1`,
        [accountId, from, to],
      );
    },
    async examples(accountId) {
      if (!isThere()) return [];
      return await queryRows(
        pool,
        RecentRefusedCalls,
        `select code, examples from refused_last where account_id = $1`,
        [accountId],
      );
    },
    flush,
    async prune() {
      if (!isThere()) return;
      const before = clock.now() - REFUSED_CALLS_KEPT_MS;
      await pool.query("delete from refused_hour where hour < $1", [new Date(before)]);
      await pool.query(
        `update refused_last set examples = ${newest("examples")} where (examples -> -1 ->> 'at')::float8 < $1`,
        [before],
      );
      await pool.query("delete from refused_last where examples = '[]'");
    },
    async close() {
      stop();
      await tryToFlush();
    },
  };
}

/** Selects the latest 20 examples since `$1`. */
const newest = (examples: string): string =>
  `(select coalesce(jsonb_agg(e), '[]')
      from (select e from jsonb_array_elements(${examples}) e where (e ->> 'at')::float8 >= $1
             order by (e ->> 'at')::float8 desc limit ${EXAMPLES_MAX}) last)`;

/**
 * Writes counts to the database. For an invalid secret, the statement finds the API key by its reference, and from the
 * key the account and the reason for the refusal. So the refusal itself needs no query.
 */
async function writeBatch(pool: pg.Pool, batch: Tally[], keptFrom: number): Promise<void> {
  const values = [
    keptFrom,
    formatUnquotedArray(batch.map(({ by }) => ("id" in by ? by.id : null))),
    formatUnquotedArray(batch.map(({ by }) => ("id" in by ? by.accountId : null))),
    formatTextArray(batch.map(({ by }) => ("reference" in by ? by.reference : null))),
    formatTextArray(batch.map(({ code }) => code)),
    formatUnquotedArray(batch.map(({ status }) => status)),
    formatUnquotedArray(batch.map(({ hour }) => hour)),
    formatUnquotedArray(batch.map(({ requests }) => requests)),
    formatUnquotedArray(batch.map(({ lastAt }) => lastAt)),
    formatTextArray(batch.map(({ examples }) => JSON.stringify(examples))),
  ];
  await pool.query(
    `with t as (
       select coalesce(n.key_id, k.id) as key_id, coalesce(n.account_id, k.account_id) as account_id, n.code, n.status,
              to_timestamp(n.hour / 1000) as hour, n.requests, to_timestamp(n.last_at / 1000) as last_at, n.examples,
              case when n.reference is null then null when k.revoked_at is not null then 'The API key was revoked.'
                   when k.expires_at <= to_timestamp(n.last_at / 1000) then 'The API key has expired.'
                   when k.reference <> n.reference then 'The API key was rotated: this is its old secret.'
                   when a.suspended_at is not null then 'The account is suspended.'
                   else 'The secret of the API key is wrong.' end as why
         from unnest($2::text::uuid[], $3::text::uuid[], $4::text::text[], $5::text::text[], $6::text::smallint[],
                     $7::text::float8[], $8::text::bigint[], $9::text::float8[], $10::text::jsonb[])
           as n (key_id, account_id, reference, code, status, hour, requests, last_at, examples)
         left join api_key k on k.reference = n.reference or k.previous_reference = n.reference
         left join account a on a.id = k.account_id
        where n.key_id is not null or k.id is not null
     ), counted as (
       insert into refused_hour (account_id, hour, key_id, code, status, requests, last_at)
       select account_id, hour, key_id, code, min(status), sum(requests), max(last_at) from t group by 1, 2, 3, 4 order by 1, 2, 3, 4
       on conflict (account_id, hour, key_id, code) do update
          set requests = refused_hour.requests + excluded.requests, last_at = greatest(refused_hour.last_at, excluded.last_at)
     ), shown as (
       select t.account_id, t.code,
              jsonb_agg(case when t.why is null then e else e || jsonb_build_object('message', t.why) end
                        || jsonb_build_object('key', t.key_id)) as examples
         from t cross join jsonb_array_elements(t.examples) e group by 1, 2
     )
     insert into refused_last (account_id, code, examples)
     select account_id, code, ${newest("examples")} from shown order by 1, 2
     on conflict (account_id, code) do update set examples = ${newest("excluded.examples || refused_last.examples")}`,
    values,
  );
}
