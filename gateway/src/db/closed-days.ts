/**
 * What was used in a span of whole hours, for sums: days that are closed come from the sums that were worked out when they were
 * (gateway/sql/functions/history_close_usage.sql), all others from their hours. Every long question reads this and not the rollup by the
 * hour, and gets the same figures: a day into which something was written since counts as open.
 */
import type pg from "pg";
import { z } from "zod";
import { ownHours } from "./own-hours.ts";
import { queryOne, row } from "./rows.ts";

/** The migration that brought closed days. */
export const CLOSED_DAYS_SINCE = 32;

const There = row({ isThere: z.boolean() });

/** Before that migration, and a gateway works there too while a new version is rolled out, all is read from the hours. */
export const hasClosedDays = (db: pg.Pool | pg.PoolClient): Promise<boolean> => isThere(db, "closed_day");

/** Whether closed days have their performance by model too, which came later. */
export const hasDaysByModel = (db: pg.Pool | pg.PoolClient): Promise<boolean> => isThere(db, "performance_day");

const isThere = async (db: pg.Pool | pg.PoolClient, table: string): Promise<boolean> =>
  (await queryOne(db, There, `select to_regclass('${table}') is not null as "isThere"`)).isThere;

type Rollup = "usage" | "performance";

/**
 * In SQL, for a `with`: the closed days that lie in the span whole (`whole`: day, begins, ends), and what is left of it between them
 * (`open`: begins, ends). A span of hours is from an hour's beginning to before any moment, so a day lies in it whole when its last hour does.
 */
export const parted = (what: Rollup, from: string, to: string): string => `
  whole as materialized (
    select c.day, d.begins, d.ends
      from closed_day c
     cross join lateral (select c.day::timestamp at time zone 'UTC', (c.day + 1)::timestamp at time zone 'UTC') as d (begins, ends)
     where c.what = '${what}' and d.begins >= ${from} and d.ends - interval '1 hour' < ${to}
       and not exists (select from late_day l where l.what = c.what and l.day = c.day)
  ), open as materialized (
    select begins, ends
      from (select coalesce(lag(ends) over (order by day), ${from}) as begins, begins as ends from whole
            union all
            select coalesce((select max(ends) from whole), ${from}), ${to}) o
     where begins < ends
  )`;

const AMOUNTS = "requests, prompt_tokens, completion_tokens, charge_pico";

/** What sums there are of closed days: how they are joined to `whole`, and what they tell apart. */
const SUMS = {
  /** Of one account, `$1`. */
  own: {
    table: "usage_day",
    when: "whole.begins",
    joined: "s.account_id = $1 and s.day = whole.day",
    columns: "key_id, model, outcome",
  },
  /** Of all, by the account. */
  accounts: {
    table: "usage_day_account",
    when: "whole.begins",
    joined: "s.day = whole.day",
    columns: "account_id, outcome",
  },
  /** Of all together; these alone know the hours of closed days. */
  all: {
    table: "usage_hour_all",
    when: "s.hour",
    joined: "s.hour >= whole.begins and s.hour < whole.ends",
    columns: "model, outcome",
  },
};

interface Span {
  /** In SQL: moments, the first of them an hour's beginning. */
  from: string;
  to: string;
}

/**
 * In SQL, for a `from`: rows with when they begin (`hour`; of a closed day, its first), what the sums tell apart, and the amounts.
 * `offset 0`: open hours are read by their own index, whatever they are filtered by. Else the planner, which cannot know that
 * little is open, may read the whole rollup once and compare.
 */
export function usedIn(sums: keyof typeof SUMS, { from, to }: Span, hasDays: boolean): string {
  const { table, when, joined, columns } = SUMS[sums];
  const isOwn = sums === "own";
  if (!hasDays) {
    const hours = isOwn ? ownHours("account_id", from, to) : `hour >= ${from} and hour < ${to}`;
    return `(select hour, ${columns}, ${AMOUNTS} from usage_hour where ${hours})`;
  }
  return `(with ${parted("usage", from, to)}
    select ${when} as hour, ${columns}, ${AMOUNTS} from whole join ${table} s on ${joined}
    union all
    select u.* from open cross join lateral (
      select hour, ${columns}, ${AMOUNTS} from usage_hour
       where ${isOwn ? "account_id = $1 and " : ""}hour >= open.begins and hour < open.ends offset 0) u)`;
}
