/**
 * Counts requests that were refused for missing credit; they have no records. Counts are written every few seconds. A
 * killed gateway loses unwritten ones.
 */
import type pg from "pg";
import { z } from "zod";
import type { Clock } from "../base/clock.ts";
import type { Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import { INSUFFICIENT_CREDIT_REASONS } from "../base/stored-enumerations.ts";
import { HOUR_MS } from "../base/time.ts";
import { formatTextArray, formatUnquotedArray } from "../db/arrays.ts";
import { isDatabaseUnreachable } from "../db/errors.ts";
import { column, queryRows, row } from "../db/rows.ts";

const WRITE_EVERY_MS = 5_000;

type Reason = (typeof INSUFFICIENT_CREDIT_REASONS)[number];

type Why = { kind: "no_credit" } | { kind: "exceeds_balance" } | { kind: "exceeds_budget"; of: "day" | "month" };

const Lost = row({ keyId: column.uuid, reason: z.enum(INSUFFICIENT_CREDIT_REASONS), requests: column.count });
type Lost = z.infer<typeof Lost>;

export interface UnfundedRequestCounts {
  count(key: { id: Uuid; accountId: Uuid }, why: Why): void;
  /** Sums over whole hours, starting with the hour that contains `from`. */
  sums(accountId: Uuid, span: { from: Date; to: Date }): Promise<Lost[]>;
  flush(): Promise<void>;
  close(): Promise<void>;
}

interface Tally {
  accountId: Uuid;
  keyId: Uuid;
  hour: number;
  reason: Reason;
  requests: number;
}

export function openUnfundedRequestCounts({
  pool,
  clock,
  log,
}: {
  pool: pg.Pool;
  clock: Clock;
  log: Log;
}): UnfundedRequestCounts {
  let tallies = new Map<string, Tally>();
  const add = (tally: Tally): void => {
    const name = `${tally.keyId} ${tally.hour} ${tally.reason}`;
    const known = tallies.get(name);
    if (known === undefined) tallies.set(name, tally);
    else known.requests += tally.requests;
  };
  const flush = async (): Promise<void> => {
    if (tallies.size === 0) return;
    const batch = [...tallies.values()];
    tallies = new Map();
    const write = pool.query(
      `insert into unfunded_hour (account_id, hour, key_id, reason, requests)
       select account, to_timestamp(hour / 1000), key, reason, requests
         from unnest($1::text::uuid[], $2::text::bigint[], $3::text::uuid[], $4::text::text[], $5::text::bigint[])
           as t (account, hour, key, reason, requests) order by 1, 2, 3, 4
       on conflict (account_id, hour, key_id, reason) do update set requests = unfunded_hour.requests + excluded.requests`,
      [
        formatUnquotedArray(batch.map((tally) => tally.accountId)),
        formatUnquotedArray(batch.map((tally) => tally.hour)),
        formatUnquotedArray(batch.map((tally) => tally.keyId)),
        formatTextArray(batch.map((tally) => tally.reason)),
        formatUnquotedArray(batch.map((tally) => tally.requests)),
      ],
    );
    await write.catch((error) => {
      // The write failed: keeps the counts for the next write.
      for (const tally of batch) add(tally);
      throw error;
    });
  };
  const tryToFlush = (): Promise<void> =>
    flush().catch((error) =>
      log[isDatabaseUnreachable(error) ? "debug" : "warn"](
        { err: error },
        "could not count the requests refused for lack of credit",
      ),
    );
  const stop = clock.every(WRITE_EVERY_MS, () => void tryToFlush());
  return {
    count({ id, accountId }, why) {
      const hour = Math.floor(clock.now() / HOUR_MS) * HOUR_MS;
      add({ accountId, keyId: id, hour, reason: reasonOf(why), requests: 1 });
    },
    sums: (accountId, { from, to }) =>
      queryRows(
        pool,
        Lost,
        `select key_id as "keyId", reason, sum(requests)::float8 as requests from unfunded_hour
          where account_id = $1 and hour >= date_trunc('hour', $2::timestamptz) and hour < $3 group by 1, 2 order by 1, 2`,
        [accountId, from, to],
      ),
    flush,
    async close() {
      stop();
      await tryToFlush();
    },
  };
}

function reasonOf(why: Why): Reason {
  if (why.kind === "no_credit") return "no_credit";
  if (why.kind === "exceeds_balance") return "hold";
  return why.of === "day" ? "budget_day" : "budget_month";
}
