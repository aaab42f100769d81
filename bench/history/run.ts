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
import { checkBooks } from "../../gateway/src/ledger/check.ts";
import { measure } from "./measure.ts";
import { explaining } from "./plans.ts";
import { questionsOf } from "./questions.ts";
import { heading, lineOf, mistakesOf } from "./report.ts";
import { seed } from "./seed.ts";

const ROWS = Number(process.env.BENCH_ROWS ?? 1_000_000);
const log = createLog("silent");

const dataDir = await mkdtemp(join(tmpdir(), "tollgate-bench-"));
await chmod(dataDir, 0o711);
const postgres = await startPrivatePostgres({ dataDir, log, clock: systemClock });
const pool = openPool(postgres.connection, { log, sizeMax: 2 });
try {
  await migrate(pool, { directory: fileURLToPath(new URL("../../gateway/sql", import.meta.url)), log });
  console.log(`Seeding ${ROWS} requests …`);
  const cast = await seed(pool, ROWS);
  const client = await pool.connect();
  const watched = await explaining(client);
  console.log(heading());
  const mistakes: string[] = [];
  for (const question of await questionsOf({ pool, watched: watched.pool, cast })) {
    const figures = await measure(question, watched.taken);
    console.log(lineOf(figures));
    mistakes.push(...mistakesOf(figures));
  }
  client.release();
  console.log(
    mistakes.length === 0 ? "\nEvery question is within its bounds." : `\nOUT OF BOUNDS\n${mistakes.join("\n")}`,
  );
  const startedAt = performance.now();
  const differing = (await checkBooks(pool)).filter(({ differences }) => differences.length > 0);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(differing.length === 0 ? `The books balance (proved in ${seconds} s).` : differing);
} finally {
  await pool.end();
  await postgres.stop();
  await rm(dataDir, { recursive: true, force: true });
}
