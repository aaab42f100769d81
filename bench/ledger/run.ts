/**
 * Measures the cost of a hold and its settlement on a durable private PostgreSQL: pairs of both per second, and
 * processor time per pair of Node and PostgreSQL. Concurrency and the number of accounts vary; everything else is as in
 * the gateway.
 *
 * npm run bench -- ledger [--accounts 1,4,100] [--concurrent 1,64,500] [--seconds 4] [--gateways 2]
 *
 * With `--gateways`, compares one gateway process with this many on one database.
 */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type pg from "pg";
import { systemClock } from "../../gateway/src/base/clock.ts";
import { createLog } from "../../gateway/src/base/log.ts";
import { migrate } from "../../gateway/src/db/migrate.ts";
import { LEDGER_SESSION_OPTIONS, openPool } from "../../gateway/src/db/pool.ts";
import { type PrivatePostgres, startPrivatePostgres } from "../../gateway/src/db/private-postgres.ts";
import { checkLedger } from "../../gateway/src/ledger/check.ts";
import { compareGateways } from "./compare-gateways.ts";
import { openHoldSettleBench } from "./hold-settle-pairs.ts";

const { values } = parseArgs({
  options: {
    accounts: { type: "string" },
    concurrent: { type: "string" },
    seconds: { type: "string" },
    gateways: { type: "string" },
  },
});
const numbers = (text: string | undefined, otherwise: number[]): number[] => text?.split(",").map(Number) ?? otherwise;
const log = createLog("silent");

const dataDir = await mkdtemp(join(tmpdir(), "tollgate-bench-"));
await chmod(dataDir, 0o711);
const postgres = await startPrivatePostgres({ dataDir, log, clock: systemClock });
const pool = openPool(postgres.connection, { log, sizeMax: 10, sessionOptions: LEDGER_SESSION_OPTIONS });
try {
  await migrate(pool, { directory: fileURLToPath(new URL("../../gateway/sql", import.meta.url)), log });
  if (values.gateways === undefined) await measureOne(pool, postgres);
  else {
    await compareGateways({
      pool,
      postgres,
      outDir: dataDir,
      gateways: Number(values.gateways),
      accounts: numbers(values.accounts, [100]),
      concurrent: numbers(values.concurrent, [1, 8]),
      seconds: Number(values.seconds ?? 1),
    });
  }
  const differing = (await checkLedger(pool)).filter(({ differences }) => differences.length > 0);
  console.log(differing.length === 0 ? "The books balance." : differing);
} finally {
  await pool.end();
  await postgres.stop();
  await rm(dataDir, { recursive: true, force: true });
}

async function measureOne(pool: pg.Pool, { pid }: PrivatePostgres): Promise<void> {
  const bench = await openHoldSettleBench(pool, pid);
  console.log("accounts  concurrent   pairs/s   node µs/pair   postgres µs/pair   both");
  for (const accounts of numbers(values.accounts, [1, 4, 100])) {
    const measure = await bench.open(accounts);
    for (const concurrent of numbers(values.concurrent, [1, 64, 500])) {
      await measure({ concurrent, seconds: 1 });
      const { pairs, seconds, node, database } = await measure({ concurrent, seconds: Number(values.seconds ?? 4) });
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
}
