/** The store: the private PostgreSQL or the one of the configuration, brought up to date. */

import type pg from "pg";
import { startPrivatePostgres } from "../db/embedded.ts";
import { StoreGuard } from "../db/guard.ts";
import { openGuardedPool } from "../db/guarded-pool.ts";
import { type Connection, LEDGER_SESSION } from "../db/pool.ts";
import { openSchema, type Schema } from "../db/schema.ts";
import type { Context } from "./context.ts";

/** One for each kind of batch: holds, settlements, voids; and one for what is renewed, expired or settled late. */
const LEDGER_CONNECTIONS = 4;

export interface Store {
  pool: pg.Pool;
  /** Connections of the pool that stay open while nobody asks anything. */
  kept: number;
  /** For the ledger's functions alone. */
  ledgerPool: pg.Pool;
  connection: Connection;
  /** Knows whether the store is there. */
  guard: StoreGuard;
  /** Which migrations it has had. Parts that need a later one wait for it. */
  schema: Schema;
  /** Of the private PostgreSQL; null when the store is another. */
  pid: number | null;
}

export async function openStore({ config, log, clock, progress, onLost, onClose }: Context): Promise<Store> {
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
  const guard = new StoreGuard({ connection, clock, log });
  onClose(() => guard.stop());
  const sizeMax = config.databasePoolMax;
  const kept = Math.min(config.databasePoolMin, sizeMax);
  const pool = openGuardedPool(connection, { guard, log, sizeMax, sizeKept: kept });
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
  progress(config.migrate === "auto" ? "bringing the database up to date" : "looking at the database's schema");
  const schema = await openSchema({ pool, mode: config.migrate, clock, log, onLost });
  guard.watch();
  onClose(schema.watch());
  return { pool, kept, ledgerPool, connection, guard, schema, pid };
}
