/**
 * Measures whether the rollup job, which computes the console's figures, keeps up with requests that are recorded
 * meanwhile, and how far it lags behind.
 *
 * npm run bench -- rollups [--rate 12000] [--seconds 30] [--past 0]
 *
 * A feeder writes records at the rate, as settlements do: one durable transaction every quarter of a second. The
 * gateway's own job runs on one connection. The bench prints a line every second. At the end it merges the counted
 * parts, which a gateway does every five minutes or when 50,000 parts have accumulated.
 *
 * `--past`: how many records are rolled up and merged before the measurement, so that the tables are as full as a
 * running platform's. `npm run bench -- ledger` measures the load of the settlements themselves.
 */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type pg from "pg";
import { systemClock } from "../../gateway/src/base/clock.ts";
import { createLog } from "../../gateway/src/base/log.ts";
import { migrate } from "../../gateway/src/db/migrate.ts";
import { openPool } from "../../gateway/src/db/pool.ts";
import { startPrivatePostgres } from "../../gateway/src/db/private-postgres.ts";
import { openRollupWriter } from "../../gateway/src/history/rollup-writer.ts";
import { measureDurableWriteMs } from "../gateway/process-resource-usage.ts";
import { sumProcessorTimeNs } from "../history/query-costs.ts";
import { insertAccounts } from "../history/seed-history.ts";
import { makeSettledRequestsSql } from "../history/seed-requests.ts";

const FEED_EVERY_MS = 250;
const FEED_MS_MAX = 500;
const DRAIN_MS_MAX = 120_000;
const PAST_AT_ONCE = 50_000;
const log = createLog("silent");
const SQL = fileURLToPath(new URL("../../gateway/sql", import.meta.url));

const { values } = parseArgs({
  options: {
    rate: { type: "string", default: "12000" },
    seconds: { type: "string", default: "30" },
    past: { type: "string", default: "0" },
  },
});
const [rate, seconds, past] = [Number(values.rate), Number(values.seconds), Number(values.past)];

const dataDir = await mkdtemp(join(tmpdir(), "tollgate-bench-"));
await chmod(dataDir, 0o711);
const postgres = await startPrivatePostgres({ dataDir, log, clock: systemClock });
const pool = openPool(postgres.connection, { log, sizeMax: 3 });
const alone = openPool(postgres.connection, { log, sizeMax: 1 });
try {
  await migrate(pool, { directory: SQL, log });
  await insertAccounts(pool);
  await makePast();
  await measure();
} finally {
  await alone.end();
  await pool.end();
  await postgres.stop();
  await rm(dataDir, { recursive: true, force: true });
}

/** Creates records of the last second, rolls them up and merges them. */
async function makePast(): Promise<void> {
  for (let first = 0; first < past; first += PAST_AT_ONCE) {
    const rows = Math.min(PAST_AT_ONCE, past - first);
    const span = { rows, fromMs: Date.now() - 1_000, toMs: Date.now() };
    await alone.query(
      makeSettledRequestsSql({ table: "request", fromMs: span.fromMs, toMs: span.toMs, first: 0, end: rows }, span),
    );
    await alone.query("select history_roll_up($1)", [rows]);
  }
  await mergeAll();
}

/**
 * Merges all rows of `performance_part` into `performance`, including those of the current time slot. Returns how many
 * rows were merged.
 */
async function mergeAll(): Promise<number> {
  for (let merged = 0; ; ) {
    const { rows } = await alone.query("select history_merge_performance(20000, 'infinity') as merged");
    if (rows[0].merged === 0) return merged;
    merged += rows[0].merged;
  }
}

async function measure(): Promise<void> {
  console.log(`A durable write takes ${measureDurableWriteMs(dataDir).toFixed(2)} ms.`);
  const server = await processOf(alone);
  const feeding = await pool.connect();
  const feeder = await processOf(feeding);
  let rolled = 0;
  const counting = {
    query: async (text: string, of: unknown[]) => {
      const answer = await alone.query(text, of);
      rolled += (answer.rows[0] as { rolled?: number }).rolled ?? 0;
      return answer;
    },
  };
  const rollups = openRollupWriter({ pool: counting as unknown as pg.Pool, clock: systemClock, log });
  const begunAt = performance.now();
  const spentBefore = { job: sumProcessorTimeNs(server), feeder: sumProcessorTimeNs(feeder) };
  let fed = 0;
  let isFed = false;
  const feed = async (): Promise<void> => {
    let writtenTo = Date.now();
    while (performance.now() - begunAt < seconds * 1000) {
      await sleep(FEED_EVERY_MS);
      const now = Date.now();
      const first = fed;
      // On a slow machine the feeder writes fewer records instead of catching up in a burst.
      fed += Math.round((rate * Math.min(now - writtenTo, FEED_MS_MAX)) / 1000);
      const past = { rows: fed - first, fromMs: writtenTo, toMs: now };
      await feeding.query(
        makeSettledRequestsSql({ table: "request", fromMs: writtenTo, toMs: now, first: 0, end: fed - first }, past),
      );
      writtenTo = now;
      rollups.soon();
    }
    isFed = true;
  };
  const feedingEnds = feed();
  console.log("second     fed  waiting  oldest, s");
  const lags: number[] = [];
  for (let second = 1; !isFed || lags.at(-1) !== 0; second++) {
    await sleep(1_000);
    const { rows } = await pool.query(
      "select count(*)::int as waiting, coalesce(extract(epoch from now() - min(uuid_time(request_id))), 0)::float8 as oldest from unrolled",
    );
    const { waiting, oldest } = rows[0] as { waiting: number; oldest: number };
    lags.push(waiting === 0 ? 0 : oldest);
    console.log(
      `${String(second).padStart(6)}${String(fed).padStart(8)}${String(waiting).padStart(9)}${oldest.toFixed(1).padStart(11)}`,
    );
    if ((second - seconds) * 1000 > DRAIN_MS_MAX) break;
  }
  await feedingEnds;
  await rollups.stop();
  const [fedIn, all] = [seconds, (performance.now() - begunAt) / 1000];
  const us = (spent: number, before: number, of: number): string => ((spent - before) / 1000 / of).toFixed(1);
  const spentOnRuns = sumProcessorTimeNs(server);
  const parts = await mergeAll();
  const spentOnMerging = sumProcessorTimeNs(server);
  const { rows: counted } = await pool.query("select count(*)::int as rows from performance");
  const during = lags.slice(0, seconds).toSorted((a, b) => a - b);
  console.log(
    `\n${fed} records in ${fedIn} s (${Math.round(fed / fedIn)} a second); ${rolled} rolled up after ${all.toFixed(0)} s.`,
  );
  console.log(
    `Lag while they came: median ${during[during.length >> 1]?.toFixed(1)} s, greatest ${during.at(-1)?.toFixed(1)} s.`,
  );
  console.log(
    `µs of PostgreSQL's processor time a record: the job's runs ${us(spentOnRuns, spentBefore.job, rolled)}, merging ${us(spentOnMerging, spentOnRuns, rolled)} (${parts} parts into ${counted[0]?.rows} rows), the feeder ${us(sumProcessorTimeNs(feeder), spentBefore.feeder, fed)}.`,
  );
  feeding.release();
}

/** Returns the path of the file in which Linux counts the processor time of the connection's server process. */
async function processOf(connection: pg.Pool | pg.PoolClient): Promise<string> {
  const { rows } = await connection.query("select pg_backend_pid() as pid");
  return `/proc/${rows[0].pid}/schedstat`;
}
