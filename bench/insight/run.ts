/**
 * Checks the console's figures on a million requests: each must equal a plain query over the requests. Also measures
 * the duration of both, the speed of the rollup job, and the load time of the console's pages in a browser.
 *
 * BENCH_ROWS=100000 reduces the number of requests, BENCH_ROUNDS=3 the number of visits to the pages, and
 * BENCH_COMPARE=no leaves out the figures. BENCH_PAST=directory keeps the history there, and the next run with it only
 * visits the pages. BENCH_BESIDE=6000 also visits each page on a history of that many requests, to compare.
 */
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type pg from "pg";
import { buildConsole, CHROMIUM } from "../../e2e/console/console-browser.ts";
import { systemClock } from "../../gateway/src/base/clock.ts";
import type { Uuid } from "../../gateway/src/base/ids.ts";
import { createLog } from "../../gateway/src/base/log.ts";
import { migrate } from "../../gateway/src/db/migrate.ts";
import { openPool } from "../../gateway/src/db/pool.ts";
import { type PrivatePostgres, startPrivatePostgres } from "../../gateway/src/db/private-postgres.ts";
import { openRollupWriter } from "../../gateway/src/history/rollup-writer.ts";
import { sumProcessorTimeNs } from "../history/query-costs.ts";
import { closePastDays, HISTORY_DAYS, type SeededAccounts, seedHistory } from "../history/seed-history.ts";
import { seedTablesExceptRequests } from "../history/seed-tables-except-requests.ts";
import { compareConsoleFigures } from "./compare-figures.ts";
import { type LongHistory, measureConsolePages } from "./measure-console-pages.ts";

const ROWS = Number(process.env.BENCH_ROWS ?? 1_000_000);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const ROWS_BESIDE = Number(process.env.BENCH_BESIDE ?? 0);
/** `no`: only the pages are visited. */
const COMPARES = process.env.BENCH_COMPARE !== "no";
const NAME_WIDTH = 40;
const DAY_MS = 86_400_000;
const log = createLog("silent");

type Connection = PrivatePostgres["connection"];

/**
 * Runs the rollup job on one connection and reports the processor time of its backend, because the machine is shared.
 */
async function rollUp(connection: Connection): Promise<void> {
  // Without a timeout, because the rollup's own periodic queries wait for the connection too.
  const alone = openPool(connection, { log, sizeMax: 1, connectMsMax: 0 });
  try {
    const { rows } = await alone.query("select pg_backend_pid() as pid");
    const server = `/proc/${rows[0].pid}/schedstat`;
    const [startedAt, before] = [performance.now(), sumProcessorTimeNs(server)];
    const rollups = openRollupWriter({ pool: alone, clock: systemClock, log });
    const rolled = await rollups.run();
    await rollups.merge();
    const [tookS, ranS] = [(performance.now() - startedAt) / 1000, (sumProcessorTimeNs(server) - before) / 1e9];
    await rollups.stop();
    const aSecond = (seconds: number): string => `${seconds.toFixed(1)} s (${Math.round(rolled / seconds)} a second)`;
    console.log(`Rolled up ${rolled} in ${aSecond(tookS)}, of which the server ran ${aSecond(ranS)}.`);
  } finally {
    await alone.end();
  }
}

async function makePast(pool: pg.Pool, connection: Connection, requests: number): Promise<SeededAccounts> {
  await migrate(pool, { directory: fileURLToPath(new URL("../../gateway/sql", import.meta.url)), log });
  console.log(`Seeding ${requests} requests …`);
  const toMs = Date.now();
  const cast = await seedHistory(pool, { rows: requests });
  await seedTablesExceptRequests(pool, { rows: requests, fromMs: toMs - HISTORY_DAYS * DAY_MS, toMs });
  await rollUp(connection);
  // The rollups are late changes of days that the seed closed.
  await closePastDays(pool);
  await pool.query("set statement_timeout = 0");
  for (const table of ["performance", "performance_part", "label_day", "unrolled"]) {
    await pool.query(`vacuum (analyze) ${table}`);
    const { rows } = await pool.query(
      "select (select count(*) from performance) as n, pg_total_relation_size($1::regclass) as bytes",
      [table],
    );
    console.log(
      `${table}: ${Math.round(Number(rows[0].bytes) / 1024)} KiB${table === "performance" ? `, ${rows[0].n} rows` : ""}`,
    );
  }
  return cast;
}

async function compareAll(pool: pg.Pool, connection: Connection, cast: SeededAccounts): Promise<void> {
  const connect = async () => openPool(connection, { log, sizeMax: 2 });
  console.log(
    `\n${"figures".padEnd(NAME_WIDTH)}${["equal", "first ms", "least ms", "plain ms"].map((head) => head.padStart(11)).join("")}`,
  );
  let total = 0;
  for await (const { name, figures, firstMs, leastMs, plainMs } of compareConsoleFigures({
    pool,
    connect,
    account: cast.builder as Uuid,
    now: Date.now(),
  })) {
    total += figures;
    const columns = [figures, ...[firstMs, leastMs, plainMs].map((ms) => ms.toFixed(1))];
    console.log(`${name.padEnd(NAME_WIDTH)}${columns.map((value) => String(value).padStart(11)).join("")}`);
  }
  console.log(`\n${total} figures are those of the plain queries.`);
}

/** Creates a history in the data directory, which keeps it. `then` runs before its PostgreSQL stops. */
async function makeHistory(
  dataDir: string,
  rows: number,
  then: (pool: pg.Pool, connection: Connection, cast: SeededAccounts) => Promise<void> = async () => {},
): Promise<LongHistory> {
  const postgres = await startPrivatePostgres({ dataDir, log, clock: systemClock });
  const pool = openPool(postgres.connection, { log, sizeMax: 1 });
  try {
    const cast = await makePast(pool, postgres.connection, rows);
    await then(pool, postgres.connection, cast);
    return { rows, dataDir, cast };
  } finally {
    await pool.end();
    await postgres.stop();
  }
}

const makeAndCompare = (dataDir: string): Promise<LongHistory> =>
  makeHistory(dataDir, ROWS, COMPARES ? compareAll : undefined);

async function visitPages(history: LongHistory): Promise<void> {
  if (CHROMIUM === undefined) return console.log("\nChromium is not installed: the pages are not measured.");
  buildConsole();
  if (ROWS_BESIDE === 0) return await measureConsolePages([history], ROUNDS);
  await withNewDirectory(async (dataDir) =>
    measureConsolePages([history, await makeHistory(dataDir, ROWS_BESIDE)], ROUNDS),
  );
}

/** Creates the history only if the directory has no complete one: the file with the accounts is written last. */
async function withKeptPast(directory: string): Promise<void> {
  const [dataDir, castFile] = [join(directory, "data"), join(directory, "cast.json")];
  if (!existsSync(castFile)) {
    await mkdir(dataDir, { recursive: true });
    for (const path of [directory, dataDir]) await chmod(path, 0o711);
    await writeFile(castFile, JSON.stringify((await makeAndCompare(dataDir)).cast));
  }
  await visitPages({ rows: ROWS, dataDir, cast: JSON.parse(await readFile(castFile, "utf8")) });
}

async function withNewDirectory(work: (dataDir: string) => Promise<void>): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), "tollgate-bench-"));
  await chmod(dataDir, 0o711);
  try {
    await work(dataDir);
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

const { BENCH_PAST } = process.env;
await (BENCH_PAST
  ? withKeptPast(BENCH_PAST)
  : withNewDirectory(async (dataDir) => visitPages(await makeAndCompare(dataDir))));
