/** Opens and migrates the configured database, or the private PostgreSQL that this gateway starts itself. */

import type pg from "pg";
import type { DatabaseAccess } from "../assemble/port-interfaces.ts";
import { readdirIfExists } from "../base/read-if-exists.ts";
import { ACCOUNT_QUEUES_AT_ONCE } from "../db/account-queues.ts";
import { openBroadcast } from "../db/broadcast.ts";
import { assertPoolerKeepsSessions } from "../db/check-pooler.ts";
import { makeConnectionName } from "../db/connected-programs.ts";
import { watchConnectionLimits } from "../db/connection-limits.ts";
import { checkAcceptsWrites } from "../db/database-client.ts";
import { type DatabaseClock, readClock } from "../db/database-clock.ts";
import { openDatabaseHistoryFile } from "../db/lineage/database-history-file.ts";
import { DatabaseLineage, LINEAGE_MIGRATION, WrongDatabaseHistoryError } from "../db/lineage/database-lineage.ts";
import { DatabaseOutageGuard } from "../db/outage-guard.ts";
import { openGuardedPool } from "../db/outage-guarded-pool.ts";
import { type Connection, clientConfig, LEDGER_SESSION_OPTIONS } from "../db/pool.ts";
import { startPrivatePostgres } from "../db/private-postgres.ts";
import { openSchemaMonitor } from "../db/schema-monitor.ts";
import { checkSession } from "../db/session-settings.ts";
import { listSpoolDirectories } from "../ledger/spool.ts";
import type { BuildContext } from "./build-context.ts";
import { type ReportMissing, retryUntilDatabaseAvailable, StoppedWhileWaiting } from "./wait-for-dependencies.ts";

/**
 * One connection for each kind of batch (holds, settlements, voids), and one for renewals, expiries and late
 * settlements.
 */
const LEDGER_CONNECTIONS = 4;
/**
 * The maximum wait for an account's lock, after which a batch continues without that account. Other gateways hold such
 * a lock until their commit is safe, possibly on a distant standby. A client waits at most two seconds for its hold.
 */
const BATCH_LOCK_MS_MAX = 1_000;
/**
 * The same for operations on locked accounts, which run apart from the batches. It is shorter, because a settlement
 * that waits for its host's lock already holds its builder's lock.
 */
const APART_LOCK_MS_MAX = 500;
/** Connections for the operations on locked accounts, opened on demand. */
const APART_CONNECTIONS = 4 * ACCOUNT_QUEUES_AT_ONCE;
/** The connections besides `DATABASE_POOL_MAX`: the ledger's, the listener and the heartbeat. */
export const OTHER_CONNECTIONS = LEDGER_CONNECTIONS + APART_CONNECTIONS + 2;

/** Opens the database. `pid`: the process ID of the private PostgreSQL; null for a configured database. */
export async function openGatewayDatabase(
  context: BuildContext,
  time: DatabaseClock,
  tellMissing: ReportMissing = () => {},
): Promise<DatabaseAccess & { pid: number | null }> {
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
  const { spoolRoot = config.spoolDir } = context.worker ?? {};
  const family = () => listSpoolDirectories(spoolRoot, readdirIfExists);
  const lineage = new DatabaseLineage({ memory: openDatabaseHistoryFile(config.spoolDir, family), newId, clock, log });
  const guard = new DatabaseOutageGuard({ connection, clock, log, durability, lineage, time });
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
    // One idle connection is kept: periodic sweeps would reopen it anyway, and an idle timeout costs a timer each time.
    sizeKept: 1,
    sessionOptions: LEDGER_SESSION_OPTIONS,
    lockMsMax: BATCH_LOCK_MS_MAX,
  });
  onClose(() => ledgerPool.end());
  const ledgerApartPool = openGuardedPool(connection, {
    guard,
    log,
    sizeMax: APART_CONNECTIONS,
    sessionOptions: LEDGER_SESSION_OPTIONS,
    lockMsMax: APART_LOCK_MS_MAX,
  });
  onClose(() => ledgerApartPool.end());
  const connectionLimits = watchConnectionLimits({ pool, guard, clock, log });
  onClose(() => connectionLimits.stop());
  progress(config.migrate === "auto" ? "migrating the database" : "checking the database schema");
  const schema = await retryUntilDatabaseAvailable(context, tellMissing, async () => {
    // The clock must be read before anything uses it.
    await readClock(pool, clock, time);
    // Checked before the session's settings, because behind a pooler with a wrong pool mode they may be another
    // session's.
    await assertPoolerKeepsSessions(clientConfig(connection, makeConnectionName()));
    await checkSession(pool, durability);
    await checkAcceptsWrites(pool);
    await connectionLimits.look();
    // If the database has a history, it must be verified before migrations run.
    await beginLineage(lineage, pool);
    return await openSchemaMonitor({ pool, mode: config.migrate, clock, log, onLost });
  });
  await beginLineage(lineage, pool);
  if (!lineage.isOn) {
    // This gateway already serves, so it ends instead of waiting for the right database.
    const endIfRejected = (error: Error): never => {
      if (error instanceof WrongDatabaseHistoryError) onLost(error);
      throw error;
    };
    const begun = schema.reached(LINEAGE_MIGRATION).then(() =>
      retryUntilDatabaseAvailable(
        context,
        () => {},
        () => beginLineage(lineage, pool).catch(endIfRejected),
      ),
    );
    begun.catch((error) => error instanceof StoppedWhileWaiting || onLost(error));
  }
  guard.watch();
  onClose(schema.watch());
  const { gateway } = context.worker ?? {};
  const broadcast = await openBroadcast({ pool, connection, guard, clock, log, gateway });
  onClose(() => broadcast.close());
  return {
    pool,
    ledgerPool,
    ledgerApartPool,
    connections: { max, kept, total: max + OTHER_CONNECTIONS },
    broadcast,
    schema,
    health: guard.health,
    clock: time.state,
    connectionsRefused: () => guard.tooMany,
    connectionLimits: connectionLimits.limits,
    lineage,
    forget: () => broadcast.forget(),
    onChange(run) {
      guard.onChange = run;
    },
    pid,
  };
}

/**
 * Verifies the database's history. Uses one connection for all steps, because a load balancer may lead the next
 * connection to another server.
 */
async function beginLineage(lineage: DatabaseLineage, pool: pg.Pool): Promise<void> {
  const client = await pool.connect();
  try {
    await lineage.begin(client);
  } finally {
    client.release();
  }
}
