/**
 * Measures which part of a growing platform reaches its limit first: the figures in docs/scale.md that no other bench
 * measures.
 *
 * npm run bench -- walls [--part presence|interest|reserve] [--seconds 10]
 */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { systemClock } from "../../gateway/src/base/clock.ts";
import { createLog } from "../../gateway/src/base/log.ts";
import { migrate } from "../../gateway/src/db/migrate.ts";
import { openPool } from "../../gateway/src/db/pool.ts";
import { startPrivatePostgres } from "../../gateway/src/db/private-postgres.ts";
import { findNatsServer } from "../../gateway/src/plane/nats/testing-nats-server.ts";
import { measureReserveContention } from "./reserve-contention.ts";
import { measureStateReports } from "./state-reports.ts";
import { measureSubscriptionCost } from "./subscription-cost.ts";

const NODE_COUNTS = [1_000, 5_000, 10_000];
const REPORTS = [500, 1_500];
const CONNECTIONS = 16;
const log = createLog("silent");

const { values } = parseArgs({ options: { part: { type: "string" }, seconds: { type: "string", default: "10" } } });
const seconds = Number(values.seconds);
const asked = (part: string): boolean => values.part === undefined || values.part === part;

const nats = findNatsServer();
if (nats === undefined) console.error("nats-server is not installed: presence and interest are left out.");
if (asked("presence") && nats !== undefined) await measureStateReports(REPORTS, seconds);
if (asked("interest") && nats !== undefined) await measureSubscriptionCost(nats, NODE_COUNTS);
if (asked("reserve")) await onDatabase();
process.exit(0);

async function onDatabase(): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), "tollgate-bench-"));
  await chmod(dataDir, 0o711);
  const postgres = await startPrivatePostgres({ dataDir, log, clock: systemClock });
  const pool = openPool(postgres.connection, { log, sizeMax: CONNECTIONS });
  try {
    await migrate(pool, { directory: fileURLToPath(new URL("../../gateway/sql", import.meta.url)), log });
    await measureReserveContention(pool, seconds);
  } finally {
    await pool.end();
    await postgres.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}
