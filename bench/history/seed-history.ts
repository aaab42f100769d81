/**
 * Creates a busy builder's history with SQL only: requests with their rollups and balances, consistent enough to pass
 * the ledger check. One builder has nine tenths of the requests, one host serves half of them; keys, models, outcomes
 * and nodes range from common to rare.
 */
import type pg from "pg";
import { systemClock } from "../../gateway/src/base/clock.ts";
import { createLog } from "../../gateway/src/base/log.ts";
import { DAY_MS } from "../../gateway/src/base/time.ts";
import { startDayClosing } from "../../gateway/src/history/day-closing.ts";
import {
  type HistoryPeriod,
  HOST_COUNT,
  idFromNameSql,
  KEY_NAMES,
  NODES_OF_HOST,
  PRICE_ROWS,
  SMALL_BUILDER_COUNT,
  seedRequests,
} from "./seed-requests.ts";
import { seedHourlyRollups, seedRollups } from "./seed-rollups.ts";
import { seedTablesExceptRequests } from "./seed-tables-except-requests.ts";

export const HISTORY_DAYS = 60;

export interface SeededAccounts {
  builder: string;
  /** One of the 100 builders that share a tenth of the requests. */
  smallBuilder: string;
  host: string;
  keys: string[];
  /** The host's nodes, most used first. */
  nodes: string[];
}

interface SeedOptions {
  rows: number;
  days?: number;
  /**
   * Whether to seed the remaining tables as well: rollups of performance and labels, nodes, samples, operators'
   * actions.
   */
  whole?: boolean;
  /** Called with a description of each step. */
  progress?: (what: string) => void;
}

export async function seedHistory(pool: pg.Pool, options: SeedOptions): Promise<SeededAccounts> {
  const { rows, days = HISTORY_DAYS, whole = false, progress = () => undefined } = options;
  const toMs = Date.now();
  const past: HistoryPeriod = { rows, fromMs: toMs - days * DAY_MS, toMs };
  await insertAccounts(pool);
  await setLateness(pool, "disable");
  progress("requests and their indexes");
  await seedRequests(pool, past);
  progress("rollups of hours");
  await seedHourlyRollups(pool, past);
  await settleBalances(pool);
  if (whole) {
    progress("rollups of performance and labels");
    await seedRollups(pool, past);
    await seedTablesExceptRequests(pool, past);
  } else await leaveUnrolled(pool);
  await setLateness(pool, "enable");
  progress("closed days");
  await closePastDays(pool);
  progress("statistics");
  await vacuum(pool, [...FILLED, ...SMALL]);
  return await readSeededAccounts(pool);
}

export async function insertAccounts(pool: pg.Pool): Promise<void> {
  await pool.query(`insert into price select 1, model, price_in, price_out from ${PRICE_ROWS}`);
  await pool.query(
    `with opened as (
       insert into account (id, kind, name)
       select ${idFromNameSql("'builder ' || i")}, 'builder', 'Builder ' || i from generate_series(0, ${SMALL_BUILDER_COUNT}) i
       union all select ${idFromNameSql("'host ' || i")}, 'host', 'Host ' || i from generate_series(0, ${HOST_COUNT - 1}) i
       returning id, kind)
     insert into ledger_account (id, kind) select id, kind from opened`,
  );
  await pool.query(
    "select ledger_transfer(gen_random_uuid(), 'grant', id, 10000000000000000, 'bench') from account where kind = 'builder'",
  );
}

async function settleBalances(pool: pg.Pool): Promise<void> {
  await pool.query(
    `update ledger_account a set balance = a.balance + e.total
       from (select account_id, -sum(charge_pico) as total from usage_hour group by 1
             union all select host_account_id, sum(host_pico) from earning_hour group by 1) e
      where e.account_id = a.id and e.total <> 0`,
  );
}

/**
 * Turns the triggers of the rollup tables off or on. They are off while a history is seeded, because they would mark
 * the old rows as late changes of finished days.
 */
async function setLateness(pool: pg.Pool, to: "enable" | "disable"): Promise<void> {
  for (const table of ["usage_hour", "performance"]) await pool.query(`alter table ${table} ${to} trigger user`);
}

/** Closes past days with the gateway's own job, also in a history that an earlier version of the bench created. */
export async function closePastDays(pool: pg.Pool): Promise<void> {
  const closing = startDayClosing({ pool, clock: systemClock, log: createLog("silent") });
  const closed = await closing.run();
  await closing.stop();
  if (closed > 0) await vacuum(pool, SUMS);
}

/** Marks requests as not rolled up, as the database migration does with existing requests. */
async function leaveUnrolled(pool: pg.Pool): Promise<void> {
  const text = `insert into unrolled (request_id, outcome)
    select id, outcome from request where not starts_with(outcome, 'rate_limit_') order by id`;
  await withoutHurry(pool, [text]);
}

const SUMS = ["usage_day", "usage_day_account", "usage_hour_all", "performance_all", "performance_day", "closed_day"];
const FILLED = ["request", "usage_hour", "earning_hour", "performance", "label_day", "node_presence", "model_hour"];
const SMALL = ["ledger_account", "account", "transfer", "api_key", "node", "node_election", "operator_action"];

const vacuum = (pool: pg.Pool, tables: string[]): Promise<void> =>
  withoutHurry(
    pool,
    tables.map((table) => `vacuum (analyze) ${table}`),
  );

/** Runs statements without a time limit. */
async function withoutHurry(pool: pg.Pool, texts: string[]): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("set statement_timeout = 0");
    for (const text of texts) await client.query(text);
  } finally {
    // Closes the connection, because its settings must not affect later queries.
    client.release(true);
  }
}

export async function readSeededAccounts(pool: pg.Pool): Promise<SeededAccounts> {
  const { rows } = await pool.query(
    `select ${idFromNameSql("'builder 0'")} as builder, ${idFromNameSql("'builder 1'")} as "smallBuilder", ${idFromNameSql("'host 0'")} as host,
            array(select ${idFromNameSql("'key 0 ' || i")} from generate_series(1, ${KEY_NAMES.length}) i) as keys,
            array(select ${idFromNameSql("'node 0 ' || i")} from generate_series(1, ${NODES_OF_HOST}) i) as nodes`,
  );
  return rows[0];
}
