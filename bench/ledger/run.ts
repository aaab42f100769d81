/**
 * What a hold and its settlement cost: pairs per second and processor time per pair, of Node and of PostgreSQL, on a
 * durable private PostgreSQL. Concurrency and the number of accounts vary; everything else is as in the gateway.
 */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "../../gateway/src/base/clock.ts";
import { createLog } from "../../gateway/src/base/log.ts";
import { startPrivatePostgres } from "../../gateway/src/db/embedded.ts";
import { migrate } from "../../gateway/src/db/migrate.ts";
import { LEDGER_SESSION, openPool } from "../../gateway/src/db/pool.ts";
import { checkLedger } from "../../gateway/src/ledger/check.ts";
import { openPairs } from "./pairs.ts";

const SECONDS = Number(process.env.BENCH_SECONDS ?? 4);
const log = createLog("silent");

const dataDir = await mkdtemp(join(tmpdir(), "tollgate-bench-"));
await chmod(dataDir, 0o711);
const postgres = await startPrivatePostgres({ dataDir, log, clock: systemClock });
const pool = openPool(postgres.connection, { log, sizeMax: 10, sessionOptions: LEDGER_SESSION });
try {
  await migrate(pool, { directory: fileURLToPath(new URL("../../gateway/sql", import.meta.url)), log });
  const bench = await openPairs(pool, postgres.pid);
  console.log("accounts  concurrent   pairs/s   node µs/pair   postgres µs/pair   both");
  for (const accounts of numbers("BENCH_ACCOUNTS", [1, 4, 100])) {
    const measure = await bench.open(accounts);
    for (const concurrent of numbers("BENCH_CONCURRENT", [1, 64, 500])) {
      await measure({ concurrent, seconds: 1 });
      const { pairs, seconds, node, database } = await measure({ concurrent, seconds: SECONDS });
      const [a, b] = [node / pairs, database / pairs];
      const cells = [
        (pairs / seconds).toFixed(0).padStart(9),
        a.toFixed(0).padStart(14),
        b.toFixed(0).padStart(18),
        (a + b).toFixed(0).padStart(6),
      ];
      console.log(`${String(accounts).padStart(8)}${String(concurrent).padStart(12)} ${cells.join(" ")}`);
    }
  }
  const differing = (await checkLedger(pool)).filter(({ differences }) => differences.length > 0);
  console.log(differing.length === 0 ? "The books balance." : differing);
} finally {
  await pool.end();
  await postgres.stop();
  await rm(dataDir, { recursive: true, force: true });
}

/** `BENCH_ACCOUNTS=4` and the like narrow a run. */
function numbers(name: string, all: number[]): number[] {
  return process.env[name]?.split(",").map(Number) ?? all;
}
