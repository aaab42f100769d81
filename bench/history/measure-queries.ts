/**
 * Runs each query repeatedly on one connection, as a gateway would, and once more under EXPLAIN. Reports wall time, the
 * processor time of the server and of this process, and which pages and indexes each query read.
 */

import type pg from "pg";
import { createLog } from "../../gateway/src/base/log.ts";
import { openPool } from "../../gateway/src/db/pool.ts";
import type { PrivatePostgres } from "../../gateway/src/db/private-postgres.ts";
import { readDatabaseCpuUs } from "../ledger/hold-settle-pairs.ts";
import type { HistoryQuery } from "./history-query.ts";
import { makeExplainingPool, type StatementCost } from "./query-costs.ts";

const REPEATS = 9;
const BOUND_MS = 100;
const NEWEST_BOUND_MS = 20;
const NAME_WIDTH = 52;

interface Figures extends Omit<HistoryQuery, "ask"> {
  rows: number;
  medianMs: number;
  /** The minimum time: on a shared machine it is closest to what the query itself needs. */
  leastMs: number;
  serverMs: number;
  nodeMs: number;
  pages: number;
  scanned: string[];
  indexes: string[];
}

export async function measureHistoryQueries(
  { connection, pid }: Pick<PrivatePostgres, "connection" | "pid">,
  questions: HistoryQuery[],
): Promise<void> {
  const pool = openPool(connection, { log: createLog("silent"), sizeMax: 1 });
  try {
    console.log(heading());
    const mistakes: string[] = [];
    for (const question of questions) {
      const figures = await measure(pool, pid, question);
      console.log(lineOf(figures));
      mistakes.push(...mistakesOf(figures));
    }
    const verdict =
      mistakes.length === 0 ? "Every question is within its bounds." : `OUT OF BOUNDS\n${mistakes.join("\n")}`;
    console.log(`\n${verdict}\n`);
  } finally {
    await pool.end();
  }
}

async function measure(pool: pg.Pool, serverPid: number, { ask, ...question }: HistoryQuery): Promise<Figures> {
  const times: number[] = [];
  // The first run is not measured, because it reads more from disk than later ones.
  let rows = await ask(pool);
  const [node, server] = [process.cpuUsage(), readDatabaseCpuUs(serverPid)];
  for (let i = 0; i < REPEATS; i++) {
    const startedAt = performance.now();
    rows = await ask(pool);
    times.push(performance.now() - startedAt);
  }
  const { user, system } = process.cpuUsage(node);
  const serverMs = (readDatabaseCpuUs(serverPid) - server) / 1000 / REPEATS;
  const costs = await explained(pool, ask);
  return {
    ...question,
    rows,
    medianMs: median(times),
    leastMs: Math.min(...times),
    serverMs,
    nodeMs: (user + system) / 1000 / REPEATS,
    pages: costs.reduce((sum, { pages }) => sum + pages, 0),
    scanned: costs.flatMap(({ scanned }) => scanned),
    indexes: costs.flatMap(({ indexes }) => indexes),
  };
}

async function explained(pool: pg.Pool, ask: HistoryQuery["ask"]): Promise<StatementCost[]> {
  const client = await pool.connect();
  try {
    const watched = makeExplainingPool(client);
    await ask(watched.pool);
    return watched.taken();
  } finally {
    client.release();
  }
}

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] as number;

function heading(): string {
  const columns = ["rows", "median ms", "least ms", "server ms", "node ms", "pages"].map((name) => name.padStart(11));
  return `\n${"question".padEnd(NAME_WIDTH)}${columns.join("")}  read by`;
}

function lineOf(figures: Figures): string {
  const { name, rows, medianMs, leastMs, serverMs, nodeMs, pages } = figures;
  const times = [medianMs, leastMs, serverMs, nodeMs].map((ms) => ms.toFixed(1));
  const columns = [rows, ...times, pages].map((value) => String(value).padStart(11));
  return `${name.padEnd(NAME_WIDTH)}${columns.join("")}  ${readBy(figures)}`;
}

/**
 * Returns the limits that the query exceeds. Compares processor time, or wall time if that is less: other work on the
 * machine increases both.
 */
function mistakesOf({ name, isExport, isNewest, leastMs, serverMs, nodeMs, scanned }: Figures): string[] {
  const bound = isNewest ? NEWEST_BOUND_MS : BOUND_MS;
  const ms = Math.min(leastMs, serverMs + nodeMs);
  const mistakes = ms > bound && !isExport ? [`${name}: ${ms.toFixed(1)} ms, the bound is ${bound}`] : [];
  const whole = scanned.filter((table) => table.startsWith("request"));
  return whole.length > 0 ? [...mistakes, `${name}: reads all of ${whole.join(", ")}`] : mistakes;
}

/**
 * Lists how the query read its tables. Month names are removed from index names, because each month has the same
 * indexes.
 */
function readBy({ scanned, indexes }: Figures): string {
  const months = /_(\d{4}_\d{2}|other)(?=_|$)/;
  const how = [...indexes, ...scanned.map((table) => `Seq Scan ${table}`)].map((text) => text.replace(months, ""));
  return [...new Set(how)].join(", ");
}
