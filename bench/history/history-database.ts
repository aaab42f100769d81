/** Starts the private PostgreSQL of a run as the gateway does, and reduces its logging while it is filled. */
import { chmod, mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type pg from "pg";
import { systemClock } from "../../gateway/src/base/clock.ts";
import { createLog } from "../../gateway/src/base/log.ts";
import { migrate } from "../../gateway/src/db/migrate.ts";
import { openPool } from "../../gateway/src/db/pool.ts";
import { withClient } from "../../gateway/src/db/private-postgres/postmaster.ts";
import { type PrivatePostgres, startPrivatePostgres } from "../../gateway/src/db/private-postgres.ts";

const log = createLog("silent");

export async function startHistoryServer(dataDir: string): Promise<PrivatePostgres> {
  await mkdir(dataDir, { recursive: true });
  await chmod(dataDir, 0o711);
  return await startPrivatePostgres({ dataDir, log, clock: systemClock });
}

/** Applies all migrations, and calls `work` with a connection pool. */
export async function withPool<T>(
  { connection }: PrivatePostgres,
  work: (pool: pg.Pool) => Promise<T>,
  sessionOptions?: string,
): Promise<T> {
  const pool = openPool(connection, { log, sizeMax: 10, ...(sessionOptions && { sessionOptions }) });
  try {
    await migrate(pool, { directory: fileURLToPath(new URL("../../gateway/sql", import.meta.url)), log });
    return await work(pool);
  } finally {
    await pool.end();
  }
}

/**
 * Settings while the server is filled. Rows written in the transaction that created their table are not logged, and
 * checkpoints are rare. (The server's command line makes every commit durable; filling needs few commits.)
 */
const FILLING = ["wal_level = minimal", "max_wal_senders = 0", "checkpoint_timeout = '1h'"];

export async function fillHistoryDatabase(dataDir: string, fill: (pool: pg.Pool) => Promise<void>): Promise<void> {
  await restarted(dataDir, async ({ connection }) => {
    for (const setting of FILLING)
      await withClient(connection, (client) => client.query(`alter system set ${setting}`));
  });
  await restarted(dataDir, async (server) => {
    await withPool(server, fill);
    await withClient(server.connection, (client) => client.query("alter system reset all"));
  });
}

async function restarted(dataDir: string, work: (server: PrivatePostgres) => Promise<void>): Promise<void> {
  const server = await startHistoryServer(dataDir);
  try {
    await work(server);
  } finally {
    await server.stop();
  }
}
