/**
 * A busy builder's past, made by SQL alone: requests with their rollups and balances, so consistent that the check of
 * the ledger passes. One builder has all the requests but a tenth, one host serves half of them; keys, models, outcomes and nodes
 * go from common to rare.
 */
import type pg from "pg";
import { systemClock } from "../../gateway/src/base/clock.ts";
import { createLog } from "../../gateway/src/base/log.ts";
import { keepClosing } from "../../gateway/src/history/closing-days.ts";
import { seedAround } from "./seed-around.ts";
import { HOSTS, ID, KEYS, NODES_OF_HOST, OTHERS, type Past, PRICES, seedRequests } from "./seed-requests.ts";
import { rollUpAll, sumUpHours } from "./seed-rollups.ts";

export const DAYS = 60;
const DAY_MS = 86_400_000;

export interface Cast {
  builder: string;
  /** One of the many that share the other tenth. */
  smallBuilder: string;
  host: string;
  keys: string[];
  /** Of the host, the common ones first. */
  nodes: string[];
}

interface SeedOptions {
  rows: number;
  days?: number;
  /** Whether performance and labels are rolled up too, and what is around requests is there: nodes, samples, operators' acts. */
  whole?: boolean;
  /** Told how far it is. */
  progress?: (what: string) => void;
}

export async function seed(pool: pg.Pool, options: SeedOptions): Promise<Cast> {
  const { rows, days = DAYS, whole = false, progress = () => undefined } = options;
  const toMs = Date.now();
  const past: Past = { rows, fromMs: toMs - days * DAY_MS, toMs };
  await openAccounts(pool);
  await setLateness(pool, "disable");
  progress("requests and their indexes");
  await seedRequests(pool, past);
  progress("rollups of hours");
  await sumUpHours(pool, past);
  await settleBalances(pool);
  if (whole) {
    progress("rollups of performance and labels");
    await rollUpAll(pool, past);
    await seedAround(pool, past);
  } else await leaveUnrolled(pool);
  await setLateness(pool, "enable");
  progress("closed days");
  await closeDays(pool);
  progress("statistics");
  await vacuum(pool, [...FILLED, ...SMALL]);
  return await readCast(pool);
}

export async function openAccounts(pool: pg.Pool): Promise<void> {
  await pool.query(`insert into price select 1, model, price_in, price_out from ${PRICES}`);
  await pool.query(
    `with opened as (
       insert into account (id, kind, name)
       select ${ID("'builder ' || i")}, 'builder', 'Builder ' || i from generate_series(0, ${OTHERS}) i
       union all select ${ID("'host ' || i")}, 'host', 'Host ' || i from generate_series(0, ${HOSTS - 1}) i
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

/** While a past is filled in, nothing of it is late. */
async function setLateness(pool: pg.Pool, to: "enable" | "disable"): Promise<void> {
  for (const table of ["usage_hour", "performance"]) await pool.query(`alter table ${table} ${to} trigger user`);
}

/** By the gateway's own job: also those of a past that an earlier version made. */
export async function closeDays(pool: pg.Pool): Promise<void> {
  const closing = keepClosing({ pool, clock: systemClock, log: createLog("silent") });
  const closed = await closing.run();
  await closing.stop();
  if (closed > 0) await vacuum(pool, SUMS);
}

/** As the migration does with the past that it finds. */
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

/** Statements that may take as long as they take. */
async function withoutHurry(pool: pg.Pool, texts: string[]): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("set statement_timeout = 0");
    for (const text of texts) await client.query(text);
  } finally {
    // Its settings go with it.
    client.release(true);
  }
}

export async function readCast(pool: pg.Pool): Promise<Cast> {
  const { rows } = await pool.query(
    `select ${ID("'builder 0'")} as builder, ${ID("'builder 1'")} as "smallBuilder", ${ID("'host 0'")} as host,
            array(select ${ID("'key 0 ' || i")} from generate_series(1, ${KEYS.length}) i) as keys,
            array(select ${ID("'node 0 ' || i")} from generate_series(1, ${NODES_OF_HOST}) i) as nodes`,
  );
  return rows[0];
}
