/** The store: the private PostgreSQL or the one of the configuration, brought up to date. */

import type pg from "pg";
import type { Store } from "../assemble/ports.ts";
import { openBroadcast } from "../db/broadcast.ts";
import { startPrivatePostgres } from "../db/embedded.ts";
import { isAway } from "../db/errors.ts";
import { StoreGuard } from "../db/guard.ts";
import { openGuardedPool } from "../db/guarded-pool.ts";
import { LINEAGE_SINCE, Lineage, WrongHistory } from "../db/lineage/lineage.ts";
import { historyFile } from "../db/lineage/remembered.ts";
import { type Connection, LEDGER_SESSION } from "../db/pool.ts";
import { openSchema } from "../db/schema.ts";
import { checkSession } from "../db/session.ts";
import type { BuildContext } from "./context.ts";

/** One for each kind of batch: holds, settlements, voids; and one for what is renewed, expired or settled late. */
const LEDGER_CONNECTIONS = 4;

class DatabaseUnreachable extends Error {
  override name = "DatabaseUnreachable";
  constructor(cause: Error) {
    super(`cannot connect to the database: ${cause.message}`, { cause });
  }
}

/** `pid` of the private PostgreSQL; null when the store is another. */
export async function openStore(context: BuildContext): Promise<Store & { pid: number | null }> {
  const { config, log, clock, newId, progress, onLost, onClose } = context;
  let connection: Connection;
  let pid: number | null = null;
  if (config.databaseUrl === undefined) {
    const postgres = await startPrivatePostgres({ dataDir: config.dataDir, log, clock, progress, onLost });
    onClose(() => postgres.stop());
    connection = postgres.connection;
    pid = postgres.pid;
  } else {
    connection = { connectionString: config.databaseUrl };
  }
  const { databaseDurability: durability } = config;
  const lineage = new Lineage({ memory: historyFile(config.spoolDir), newId, clock, log });
  const guard = new StoreGuard({ connection, clock, log, durability, lineage });
  lineage.onNewer = () => guard.failedOver();
  onClose(() => guard.stop());
  const max = config.databasePoolMax;
  const kept = Math.min(config.databasePoolMin, max);
  const pool = openGuardedPool(connection, { guard, log, sizeMax: max, sizeKept: kept });
  onClose(() => pool.end());
  const ledgerPool = openGuardedPool(connection, {
    guard,
    log,
    sizeMax: LEDGER_CONNECTIONS,
    // What sweeps every few seconds would keep it open all the same, by a timer that is set and given up each time.
    sizeKept: 1,
    sessionOptions: LEDGER_SESSION,
  });
  onClose(() => ledgerPool.end());
  progress(config.migrate === "auto" ? "migrating the database" : "checking the database schema");
  const schema = await checkSession(pool, durability)
    // Before it is migrated, where it has a history already.
    .then(() => beginLineage(lineage, pool))
    .then(() => openSchema({ pool, mode: config.migrate, clock, log, onLost }))
    .catch((cause) => {
      const isUnreachable = isAway(cause) && !(cause instanceof WrongHistory);
      throw config.databaseUrl !== undefined && isUnreachable ? new DatabaseUnreachable(cause) : cause;
    });
  await beginLineage(lineage, pool);
  void schema.reached(LINEAGE_SINCE).then(() => beginLineage(lineage, pool).catch(onLost));
  guard.watch();
  onClose(schema.watch());
  const broadcast = await openBroadcast({ pool, connection, guard, clock, log });
  onClose(() => broadcast.close());
  return {
    pool,
    ledgerPool,
    connections: { max, kept },
    broadcast,
    schema,
    health: guard.health,
    clockOffsetMs: () => guard.clocks.offsetMs,
    lineage,
    forget: () => broadcast.forget(),
    pid,
  };
}

/** On one connection: behind a balancer the next one may lead to another server. */
async function beginLineage(lineage: Lineage, pool: pg.Pool): Promise<void> {
  const client = await pool.connect();
  try {
    await lineage.begin(client);
  } finally {
    client.release();
  }
}
