/**
 * What the console's questions cost on a long history: a million requests of 60 days on a private PostgreSQL, each question
 * asked by the code the console runs, its statements measured by EXPLAIN (ANALYZE, BUFFERS). BENCH_ROWS=100000 makes it smaller.
 */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "../../gateway/src/base/clock.ts";
import { createLog } from "../../gateway/src/base/log.ts";
import { startPrivatePostgres } from "../../gateway/src/db/embedded.ts";
import { migrate } from "../../gateway/src/db/migrate.ts";
import { openPool } from "../../gateway/src/db/pool.ts";
import { checkLedger } from "../../gateway/src/ledger/check.ts";
import { type Cost, explaining } from "./plans.ts";
import { type Question, questionsOf } from "./questions.ts";
import { seed } from "./seed.ts";

const ROWS = Number(process.env.BENCH_ROWS ?? 1_000_000);
const log = createLog("silent");

const REPEATS = 9;

interface Figures {
  name: string;
  isExport: boolean;
  rows: number;
  /** The first time it was asked, when less was in memory. */
  firstMs: number;
  medianMs: number;
  /** The machines this runs on are shared: the least is nearest to what the question itself needs. */
  leastMs: number;
  processorMs: number;
  pages: number;
  scanned: string[];
  indexes: string[];
}

async function measure({ name, ask, isExport = false }: Question, taken: () => Cost[]): Promise<Figures> {
  const times: { ms: number; processorMs: number }[] = [];
  let [rows, last]: [number, Cost[]] = [0, []];
  for (let i = 0; i < REPEATS; i++) {
    rows = await ask();
    last = taken();
    times.push({ ms: sum(last.map(({ ms }) => ms)), processorMs: sum(last.map(({ processorMs }) => processorMs)) });
  }
  const clock = times.map(({ ms }) => ms);
  return {
    name,
    isExport,
    rows,
    firstMs: clock[0] as number,
    medianMs: median(clock),
    leastMs: Math.min(...clock),
    processorMs: median(times.map(({ processorMs }) => processorMs)),
    pages: sum(last.map(({ pages }) => pages)),
    scanned: last.flatMap(({ scanned }) => scanned),
    indexes: last.flatMap(({ indexes }) => indexes),
  };
}

const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0);
const median = (values: number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] as number;

const BOUND_MS = 50;
const NAME_WIDTH = 44;

function heading(): string {
  const columns = ["rows", "median ms", "least ms", "first ms", "processor ms", "pages"].map((name) =>
    name.padStart(12),
  );
  return `\n${"question".padEnd(NAME_WIDTH)}${columns.join("")}  read by`;
}

function lineOf(figures: Figures): string {
  const { name, rows, medianMs, leastMs, firstMs, processorMs, pages } = figures;
  const times = [medianMs, leastMs, firstMs, processorMs].map((ms) => ms.toFixed(1));
  const columns = [rows, ...times, pages].map((value) => String(value).padStart(12));
  return `${name.padEnd(NAME_WIDTH)}${columns.join("")}  ${readBy(figures)}`;
}

/** By the least time: others' work on the machine can only add to it. */
function mistakesOf({ name, isExport, leastMs, scanned }: Figures): string[] {
  const mistakes =
    leastMs > BOUND_MS && !isExport ? [`${name}: ${leastMs.toFixed(1)} ms, the bound is ${BOUND_MS}`] : [];
  const whole = scanned.filter((table) => table.startsWith("request"));
  return whole.length > 0 ? [...mistakes, `${name}: reads all of ${whole.join(", ")}`] : mistakes;
}

/** The months' names taken out: each month has the same indexes. */
function readBy({ scanned, indexes }: Figures): string {
  const months = /_(\d{4}_\d{2}|other)(?=_|$)/;
  const how = [...indexes, ...scanned.map((table) => `Seq Scan ${table}`)].map((text) => text.replace(months, ""));
  return [...new Set(how)].join(", ");
}

const dataDir = await mkdtemp(join(tmpdir(), "tollgate-bench-"));
await chmod(dataDir, 0o711);
const postgres = await startPrivatePostgres({ dataDir, log, clock: systemClock });
const pool = openPool(postgres.connection, { log, sizeMax: 2 });
try {
  await migrate(pool, { directory: fileURLToPath(new URL("../../gateway/sql", import.meta.url)), log });
  console.log(`Seeding ${ROWS} requests …`);
  const cast = await seed(pool, ROWS);
  const mistakes: string[] = [];
  const client = await pool.connect();
  try {
    const watched = await explaining(client);
    console.log(heading());
    for (const question of await questionsOf({ pool, watched: watched.pool, cast })) {
      const figures = await measure(question, watched.taken);
      console.log(lineOf(figures));
      mistakes.push(...mistakesOf(figures));
    }
  } finally {
    client.release();
  }
  console.log(
    mistakes.length === 0 ? "\nEvery question is within its bounds." : `\nOUT OF BOUNDS\n${mistakes.join("\n")}`,
  );
  const startedAt = performance.now();
  const differing = (await checkLedger(pool)).filter(({ differences }) => differences.length > 0);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(differing.length === 0 ? `The books balance (proved in ${seconds} s).` : differing);
} finally {
  await pool.end();
  await postgres.stop();
  await rm(dataDir, { recursive: true, force: true });
}
