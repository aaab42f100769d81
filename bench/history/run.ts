/**
 * What the console's questions cost on a long history: a million requests of 60 days on a private PostgreSQL, each question
 * asked by the code the console runs, its statements measured by EXPLAIN (ANALYZE, BUFFERS). `BENCH_ROWS` makes it smaller.
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
import { explaining, type Statement } from "./plans.ts";
import { questionsOf } from "./questions.ts";
import { seed } from "./seed.ts";

const ROWS = Number(process.env["BENCH_ROWS"] ?? 1_000_000);
const REPEATS = 5;
const BOUND_MS = 50;
const log = createLog("silent");

const dataDir = await mkdtemp(join(tmpdir(), "tollgate-bench-"));
await chmod(dataDir, 0o711);
const postgres = await startPrivatePostgres({ dataDir, log, clock: systemClock });
const pool = openPool(postgres.connection, { log, sizeMax: 2 });
try {
  await migrate(pool, { directory: fileURLToPath(new URL("../../gateway/sql", import.meta.url)), log });
  console.log(`Seeding ${ROWS} requests …`);
  const cast = await seed(pool, ROWS);
  const tables = await pool.query(
    `select (select count(*) from request) as request, (select count(*) from usage_hour) as usage_hour,
            (select count(*) from earning_hour) as earning_hour, (select count(*) from ledger_entry) as ledger_entry`,
  );
  console.log(Object.entries(tables.rows[0]).map(([table, rows]) => `${table} ${rows}`).join(" · "));
  const watched = explaining(pool);
  console.log(`\n${"question".padEnd(44)} ${"rows".padStart(7)} ${"ms".padStart(7)} ${"first".padStart(7)} ${"pages".padStart(7)}  read by`);
  const over: string[] = [];
  for (const { name, ask } of await questionsOf(pool, cast, watched.pool)) {
    const runs: Statement[][] = [];
    let rows = 0;
    for (let i = 0; i < REPEATS; i++) {
      rows = await ask();
      runs.push(watched.taken());
    }
    const times = runs.map((statements) => statements.reduce((sum, { ms }) => sum + ms, 0));
    const [first, median] = [times[0] as number, times.toSorted((a, b) => a - b)[REPEATS >> 1] as number];
    const last = runs.at(-1) as Statement[];
    const pages = last.reduce((sum, statement) => sum + statement.pages, 0);
    const scanned = last.flatMap((statement) => statement.scanned);
    if (median > BOUND_MS) over.push(`${name}: ${median.toFixed(1)} ms`);
    if (scanned.some((table) => table.startsWith("request"))) over.push(`${name}: reads all of ${scanned}`);
    const how = [...last.flatMap(({ reads }) => reads), ...scanned.map((table) => `Seq Scan ${table}`)];
    console.log(
      [
        name.padEnd(44),
        String(rows).padStart(7),
        median.toFixed(1).padStart(7),
        first.toFixed(1).padStart(7),
        `${String(pages).padStart(7)} `,
        [...new Set(how)].join(", "),
      ].join(" "),
    );
  }
  console.log(over.length === 0 ? `\nEvery question is under ${BOUND_MS} ms.` : `\nOVER THE BOUND\n${over.join("\n")}`);
  const differing = (await checkBooks(pool)).filter(({ differences }) => differences.length > 0);
  console.log(differing.length === 0 ? "The books balance." : differing);
} finally {
  await pool.end();
  await postgres.stop();
  await rm(dataDir, { recursive: true, force: true });
}
