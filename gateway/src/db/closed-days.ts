/**
 * Sums of usage over a span of whole hours. A closed day (a finished daily rollup,
 * gateway/sql/functions/history_close_usage.sql) contributes its precomputed sums. Any other day contributes the rows
 * of its hours. The figures equal those of the hourly rollup: a day that changed after it was closed counts as open.
 */
import type pg from "pg";
import { z } from "zod";
import { buildOwnerHourlyRowsSql } from "./owner-hourly-rows-sql.ts";
import { queryOne, row } from "./rows.ts";

/** The migration that adds closed days. */
export const CLOSED_DAYS_MIGRATION = 32;

const There = row({ isThere: z.boolean() });

/**
 * Whether the database has the table of closed days (finished daily rollups). During a rolling upgrade it may be
 * missing, and everything is then read from the hourly rows.
 */
export const hasClosedDays = (db: pg.Pool | pg.PoolClient): Promise<boolean> => isThere(db, "closed_day");

/** Whether closed days include performance by model, which a later migration adds. */
export const hasPerformanceDayTable = (db: pg.Pool | pg.PoolClient): Promise<boolean> => isThere(db, "performance_day");

/**
 * The table or view with the performance of all requests. A later migration stores recent counts apart until a job
 * merges them, and adds a view of both.
 */
export const findPerformanceTable = async (db: pg.Pool | pg.PoolClient): Promise<string> =>
  (await isThere(db, "performance_with_parts")) ? "performance_with_parts" : "performance";

const isThere = async (db: pg.Pool | pg.PoolClient, table: string): Promise<boolean> =>
  (await queryOne(db, There, `select to_regclass('${table}') is not null as "isThere"`)).isThere;

type Rollup = "usage" | "performance";

/**
 * SQL for a `with` clause: the closed days that lie completely in the span (`whole`: day, begins, ends), and the
 * intervals between them (`open`: begins, ends).
 */
export const splitByClosedDays = (what: Rollup, from: string, to: string): string => `
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

/**
 * The tables with the sums of closed days: the SQL that joins each to `whole` (the closed days that lie completely in
 * the span), and its dimensions (`columns`).
 */
const SUMS = {
  /** The sums of one account, whose ID is `$1`. */
  own: {
    table: "usage_day",
    when: "whole.begins",
    joined: "s.account_id = $1 and s.day = whole.day",
    columns: "key_id, model, outcome",
  },
  /** The sums of all accounts, by account. */
  accounts: {
    table: "usage_day_account",
    when: "whole.begins",
    joined: "s.day = whole.day",
    columns: "account_id, outcome",
  },
  /** The sums of all accounts together, by hour. */
  all: {
    table: "usage_hour_all",
    when: "s.hour",
    joined: "s.hour >= whole.begins and s.hour < whole.ends",
    columns: "model, outcome",
  },
};

interface Span {
  /** The SQL expressions of two timestamps. The first is the start of an hour. */
  from: string;
  to: string;
}

/**
 * SQL for a `from` clause: rows with a start (`hour`; for a closed day its first hour), dimensions and amounts. `offset
 * 0` makes the planner read open hours by index. Otherwise it may scan the whole rollup.
 */
export function usageRowsSql(sums: keyof typeof SUMS, { from, to }: Span, hasDays: boolean): string {
  const { table, when, joined, columns } = SUMS[sums];
  const isOwn = sums === "own";
  if (!hasDays) {
    const hours = isOwn ? buildOwnerHourlyRowsSql("account_id", from, to) : `hour >= ${from} and hour < ${to}`;
    return `(select hour, ${columns}, ${AMOUNTS} from usage_hour where ${hours})`;
  }
  return `(with ${splitByClosedDays("usage", from, to)}
    select ${when} as hour, ${columns}, ${AMOUNTS} from whole join ${table} s on ${joined}
    union all
    select u.* from open cross join lateral (
      select hour, ${columns}, ${AMOUNTS} from usage_hour
       where ${isOwn ? "account_id = $1 and " : ""}hour >= open.begins and hour < open.ends offset 0) u)`;
}
