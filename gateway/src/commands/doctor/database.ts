/**
 * Checks the database: reachable, supported version, suitable settings, current schema, and a clock that agrees with
 * this machine's.
 */
import { type CheckResult, failedCheck, passedCheck, warningCheck } from "@tollgate/terminal/check-results.ts";
import type pg from "pg";
import { z } from "zod";
import type { Config } from "../../config.ts";
import { readBundledSql } from "../../db/bundled-sql.ts";
import { assertPoolerKeepsSessions } from "../../db/check-pooler.ts";
import { makeConnectionName } from "../../db/connected-programs.ts";
import { type ConnectionLimit, readConnectionLimits } from "../../db/connection-limits.ts";
import { openDatabaseHistoryFile } from "../../db/lineage/database-history-file.ts";
import { DatabaseHistoryRow, READ_DATABASE_HISTORY } from "../../db/lineage/database-lineage.ts";
import { judgeHistory } from "../../db/lineage/history-rules.ts";
import { planMigration } from "../../db/migration-plan.ts";
import { type Connection, clientConfig } from "../../db/pool.ts";
import { queryOne, row } from "../../db/rows.ts";
import { checkSession, DatabaseMisconfigured } from "../../db/session-settings.ts";
import { openGatewayProcesses } from "../../ledger/gateway-processes.ts";
import { spoolHost } from "../../ledger/spool.ts";
import { countConnectionsMax } from "../../workers/worker-settings.ts";
import { type DoctorContext, failedCheckWithRemedy } from "./doctor-context.ts";

const OLDEST_VERSION = 15;
const CLOCK_OFF_MS = 1_000;
const CLOCK_OFF_MS_MAX = 5_000;

const DatabaseState = row({
  version: z.int(),
  name: z.string(),
  isStandby: z.boolean(),
  readOnly: z.boolean(),
  ms: z.number(),
  syncNames: z.string(),
  /** The standbys that confirm commits; null if this database user may not see them. */
  syncStandbys: z.int().nullable(),
});
export type DatabaseState = z.infer<typeof DatabaseState>;

const STATE = `select current_setting('server_version_num')::int / 10000 as version, current_setting('server_version') as name,
    pg_is_in_recovery() as "isStandby", current_setting('transaction_read_only') = 'on' as "readOnly",
    extract(epoch from clock_timestamp())::float8 * 1000 as ms, current_setting('synchronous_standby_names') as "syncNames",
    (select case when count(*) = count(sync_state) then count(*) filter (where sync_state in ('sync', 'quorum')) end::int
       from pg_stat_replication) as "syncStandbys"`;

interface Reached extends Pick<DoctorContext, "config" | "clock" | "isStarting"> {
  pool: pg.Pool;
  connection: Connection;
}

/** Checks a reachable database. */
export async function* databaseChecks({
  pool,
  connection,
  config,
  clock,
  isStarting,
}: Reached): AsyncGenerator<CheckResult> {
  const { databaseDurability: durability } = config;
  const began = clock.now();
  const state = await queryOne(pool, DatabaseState, STATE);
  const offsetMs = state.ms - (began + clock.now()) / 2;
  const slackMs = (clock.now() - began) / 2;
  yield checkDatabaseState(state);
  yield checkConnections(await readConnectionLimits(pool), {
    needed: countConnectionsMax(config),
    others: await countOtherConnections(pool, config),
  });
  yield await misconfigured(
    "settings",
    "fsync, full_page_writes, synchronous_commit and the session's settings have the required values",
    () => checkSession(pool, durability),
  );
  yield await misconfigured("pooler", "each database connection of this gateway has its own session", () =>
    assertPoolerKeepsSessions(clientConfig(connection, makeConnectionName())),
  );
  // A private database, or one with durability "assumed", needs no standby.
  if (config.databaseUrl !== undefined && durability === "checked") yield checkStandby(state);
  yield checkDatabaseClock(offsetMs, slackMs);
  // Skipped while a gateway starts, because the start migrates the schema or reports the problem itself.
  if (!isStarting) yield await schemaCheck(pool);
  yield* historyChecks(pool, config);
}

export function checkDatabaseState({ version, name, isStandby, readOnly }: DatabaseState): CheckResult {
  if (version < OLDEST_VERSION)
    return failedCheck("database", `PostgreSQL ${name} is too old`, `upgrade PostgreSQL to ${OLDEST_VERSION} or newer`);
  if (isStandby)
    return failedCheck(
      "database",
      "it is a standby, and takes no writes",
      "set DATABASE_URL to the primary, or list all PostgreSQL servers in it",
    );
  if (readOnly)
    return failedCheck(
      "database",
      "it is read-only",
      "set default_transaction_read_only = off for the database and its role",
    );
  return passedCheck("database", `PostgreSQL ${name} answers`);
}

/**
 * `needed`: the connections that this gateway opens at most. `others`: those of all other running gateways. Each limit
 * is of the server, the role or the database.
 */
export function checkConnections(
  limits: readonly ConnectionLimit[],
  { needed, others }: { needed: number; others: number },
): CheckResult {
  const most = Math.min(...limits.map(({ max }) => max));
  const free = Math.max(0, Math.min(...limits.map(({ max, used }) => max - used)));
  const next = "raise max_connections (or the CONNECTION LIMIT of the role or database), or lower DATABASE_POOL_MAX";
  if (most < needed)
    return failedCheck("pool", `PostgreSQL allows ${most} connections, but one gateway opens up to ${needed}`, next);
  if (most < needed + others)
    return warningCheck(
      "pool",
      `PostgreSQL allows ${most} connections, but this gateway and the other running ones open up to ${needed + others}`,
      next,
    );
  const found = `${free} of ${most} connections are free`;
  return free < needed / 2 ? warningCheck("pool", found, next) : passedCheck("pool", found);
}

/** The connections that all other running gateways open at most; 0 before the database has the table of gateways. */
async function countOtherConnections(pool: pg.Pool, { spoolDir }: Config): Promise<number> {
  const { isThere } = await queryOne(pool, There, `select to_regclass('gateway_process') is not null as "isThere"`);
  return await openGatewayProcesses(pool, () => isThere).connections({ host: spoolHost(), directory: spoolDir });
}

async function misconfigured(name: string, fine: string, look: () => Promise<void>): Promise<CheckResult> {
  try {
    await look();
    return passedCheck(name, fine);
  } catch (error) {
    if (!(error instanceof DatabaseMisconfigured)) throw error;
    return failedCheckWithRemedy(name, error.message, "docs/operators/high-availability.md#postgresql");
  }
}

export function checkStandby({
  syncNames,
  syncStandbys,
}: Pick<DatabaseState, "syncNames" | "syncStandbys">): CheckResult {
  const see = "docs/operators/high-availability.md#postgresql";
  if (syncNames === "")
    return warningCheck(
      "standby",
      "PostgreSQL has no synchronous standby, so a failover loses the last charges",
      `set synchronous_standby_names (${see})`,
    );
  if (syncStandbys === 0)
    return failedCheck(
      "standby",
      `synchronous_standby_names is ${syncNames}, and no such standby is connected: commits wait`,
      `start the standby (${see})`,
    );
  return passedCheck("standby", "a synchronous standby confirms commits");
}

/** `slackMs`: the part of the offset that network delay may explain. */
export function checkDatabaseClock(offsetMs: number, slackMs: number): CheckResult {
  const offMs = Math.max(0, Math.abs(offsetMs) - slackMs);
  const said = `this machine's clock is ${(offMs / 1000).toFixed(1)} s ${offsetMs > 0 ? "behind" : "ahead of"} the database's clock`;
  const next = "synchronise both clocks with NTP: timedatectl set-ntp true";
  if (offMs > CLOCK_OFF_MS_MAX) return failedCheck("clock", said, next);
  return offMs > CLOCK_OFF_MS
    ? warningCheck("clock", said, next)
    : passedCheck("clock", "this machine's clock agrees with the database's");
}

async function schemaCheck(pool: pg.Pool): Promise<CheckResult> {
  const { schema, known, migrations } = await planMigration(pool, await readBundledSql());
  if (schema === 0)
    return passedCheck("schema", "the database is empty: the first gateway, or tollgate migrate, creates the schema");
  const left = `${migrations.length} of ${known} migrations are not applied`;
  if (migrations.some(({ phase }) => phase === "before")) return warningCheck("schema", left, "tollgate migrate");
  if (migrations.length > 0)
    return warningCheck("schema", left, "when every gateway runs this version, run tollgate migrate --finish");
  return passedCheck("schema", `migration ${schema}`);
}

const There = row({ isThere: z.boolean() });

/** Checks whether the database has the same history that this directory's gateways recorded. */
async function* historyChecks(pool: pg.Pool, { spoolDir }: Config): AsyncGenerator<CheckResult> {
  const seen = await openDatabaseHistoryFile(spoolDir).read();
  const { isThere } = await queryOne(pool, There, `select to_regclass('ledger_history') is not null as "isThere"`);
  if (seen === undefined || !isThere) return;
  const { system, timeline, epoch, position, reason } = await queryOne(pool, DatabaseHistoryRow, READ_DATABASE_HISTORY);
  // Null on a standby, which an earlier check has already reported.
  if (timeline === null || epoch === null || position === null) return;
  const judged = judgeHistory(seen, { system, timeline, epoch, position, accepted: reason === "accepted" });
  if (judged.kind !== "refused")
    yield passedCheck("history", "the database continues the history that this gateway last saw");
  else
    yield failedCheck(
      "history",
      judged.why,
      "correct DATABASE_URL; if you restored a backup or moved the database, run tollgate admin history accept",
    );
}
