/** The store: the private PostgreSQL or the one of the configuration, brought up to date. */

import type pg from "pg";
import { startPrivatePostgres } from "../db/embedded.ts";
import { StoreGuard } from "../db/guard.ts";
import { openGuardedPool } from "../db/guarded-pool.ts";
import type { Connection } from "../db/pool.ts";
import { openSchema, type Schema } from "../db/schema.ts";
import type { Context } from "./context.ts";

export interface Store {
  pool: pg.Pool;
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
  const pool = openGuardedPool(connection, { guard, log, sizeMax: config.databasePoolMax });
  onClose(() => pool.end());
  progress(config.migrate === "auto" ? "bringing the database up to date" : "looking at the database's schema");
  const schema = await openSchema({ pool, mode: config.migrate, clock, log, onLost });
  guard.watch();
  onClose(schema.watch());
  return { pool, connection, guard, schema, pid };
}
