/**
 * Opens the database for a command, and checks it as a gateway does: every connection must lead to a primary whose
 * history continues the latest one that gateways of this directory saw, and no pooler may share its session.
 */
import type pg from "pg";
import { systemClock } from "../base/clock.ts";
import { newIds } from "../base/ids.ts";
import { createErrorLog, createLog } from "../base/log.ts";
import { systemRandom } from "../base/random.ts";
import { readdirIfExists } from "../base/read-if-exists.ts";
import { assertPoolerKeepsSessions } from "../db/check-pooler.ts";
import { makeConnectionName } from "../db/connected-programs.ts";
import { checkAcceptsWrites, parseDatabaseHosts } from "../db/database-client.ts";
import { openDatabaseHistoryFile } from "../db/lineage/database-history-file.ts";
import { DatabaseLineage } from "../db/lineage/database-lineage.ts";
import { type Connection, clientConfig, openPool } from "../db/pool.ts";
import { checkSession } from "../db/session-settings.ts";
import { listSpoolDirectories } from "../ledger/spool.ts";
import { assertReachable } from "./explain-failure.ts";

interface CommandPoolOptions {
  sizeMax: number;
  /** The directory of the gateways' spools, which also has their `history.json`. It need not exist. */
  spoolDir: string;
  /** For commands that report on a copy of the database, or decide which copy gateways use. */
  onAnyHistory?: boolean | undefined;
}

export async function openCommandPool(connection: Connection, options: CommandPoolOptions): Promise<pg.Pool> {
  const { sizeMax, spoolDir, onAnyHistory = false } = options;
  const log = createErrorLog("warn");
  const verify = onAnyHistory ? undefined : await historyCheck(spoolDir);
  if (verify !== undefined && "connectionString" in connection) parseDatabaseHosts(connection).suits = verify;
  const pool = openPool(connection, { log, sizeMax, ...(verify && { verify }) });
  try {
    await assertReachable(pool, "DATABASE_URL");
    // Checked before the session's settings, because behind a pooler with a wrong pool mode they may be another
    // session's.
    await assertPoolerKeepsSessions(clientConfig(connection, makeConnectionName()));
    // Gateways check how durable commits are. A command cannot: DATABASE_DURABILITY may not be set where it runs.
    await checkSession(pool, "assumed");
    return pool;
  } catch (error) {
    await pool.end();
    throw error;
  }
}

async function historyCheck(spoolDir: string): Promise<(client: pg.ClientBase) => Promise<void>> {
  const file = openDatabaseHistoryFile(spoolDir, () => listSpoolDirectories(spoolDir, readdirIfExists));
  const seen = await file.read();
  const lineage = new DatabaseLineage({
    // Only gateways record the history.
    memory: { read: async () => seen, write: async () => {} },
    newId: newIds(systemClock, systemRandom()),
    clock: systemClock,
    // The command prints the reason.
    log: createLog("silent"),
  });
  return async (client) => {
    await checkAcceptsWrites(client);
    await lineage.suits(client);
  };
}
