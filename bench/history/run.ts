/**
 * Runs the console's queries on a long history, each with the console's own code. The history has a million requests by
 * default, on a private PostgreSQL. Also compares the cost of a hold and its settlement there with an empty database.
 *
 * `--requests 20000000` (or BENCH_REQUESTS): the number of requests; `--days 92`: the length of the history; `--past
 * DIRECTORY`: keeps the database there, and the next run uses it; `--only TEXT`: runs the queries whose names contain
 * the text; `--no-pairs` and `--no-proof`: leave out the settlements and the check of the ledger.
 */
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type pg from "pg";
import { checkLedger } from "../../gateway/src/ledger/check.ts";
import { consoleQueries, findDeepPageCursor } from "./builder-queries.ts";
import { compareRollupSample } from "./compare-rollup-sample.ts";
import { compareSettlements } from "./compare-settlements.ts";
import { fillHistoryDatabase, startHistoryServer, withPool } from "./history-database.ts";
import { measureHistoryQueries } from "./measure-queries.ts";
import { closePastDays, HISTORY_DAYS, readSeededAccounts, seedHistory } from "./seed-history.ts";

const { values } = parseArgs({
  allowNegative: true,
  options: {
    requests: { type: "string", default: process.env.BENCH_REQUESTS ?? "1000000" },
    days: { type: "string", default: String(HISTORY_DAYS) },
    past: { type: "string" },
    only: { type: "string" },
    pairs: { type: "boolean", default: true },
    proof: { type: "boolean", default: true },
  },
});
const [rows, days] = [Number(values.requests), Number(values.days)];

const startedAt = performance.now();
const elapsed = (): string => `${((performance.now() - startedAt) / 1000).toFixed(0)} s`;

async function fill(dataDir: string): Promise<void> {
  console.log(`Seeding ${rows} requests of ${days} days …`);
  const progress = (what: string): void => console.log(`${elapsed().padStart(7)}  ${what}`);
  await fillHistoryDatabase(dataDir, async (pool) => {
    await seedHistory(pool, { rows, days, whole: true, progress });
  });
  console.log(`${elapsed().padStart(7)}  seeded`);
}

async function ask(pool: pg.Pool, server: Parameters<typeof measureHistoryQueries>[0]): Promise<void> {
  const cast = await readSeededAccounts(pool);
  const questions = consoleQueries({ cast, far: await findDeepPageCursor(pool, cast), days });
  await measureHistoryQueries(
    server,
    questions.filter(({ name }) => name.includes(values.only ?? "")),
  );
}

async function prove(pool: pg.Pool): Promise<void> {
  const provedAt = performance.now();
  const differing = (await checkLedger(pool)).filter(({ differences }) => differences.length > 0);
  const seconds = ((performance.now() - provedAt) / 1000).toFixed(1);
  console.log(differing.length === 0 ? `The books balance (proved in ${seconds} s).` : differing);
}

const place = values.past ?? (await mkdtemp(join(tmpdir(), "tollgate-bench-")));
await mkdir(place, { recursive: true });
await chmod(place, 0o711);
try {
  const [dataDir, whole] = [join(place, "data"), join(place, "whole")];
  if (!existsSync(whole)) {
    await fill(dataDir);
    await writeFile(whole, "");
  }
  const server = await startHistoryServer(dataDir);
  try {
    await withPool(server, async (pool) => {
      await closePastDays(pool);
      await compareRollupSample(pool);
      await ask(pool, server);
      if (values.proof) await prove(pool);
    });
    if (values.pairs) await compareSettlements(server, join(place, "empty"));
  } finally {
    await server.stop();
  }
} finally {
  if (values.past === undefined) await rm(place, { recursive: true, force: true });
}
