/** Runs all checks, dependencies first. `tollgate doctor` prints the results, and `serve` logs them. */
import { passedCheck } from "@tollgate/terminal/check-results.ts";
import { createErrorLog, type Log } from "../../base/log.ts";
import { type Connection, openPool } from "../../db/pool.ts";
import { PrivatePostgresError } from "../../db/private-postgres/errors.ts";
import { findPrivatePostgres } from "../../db/private-postgres.ts";
import { assertReachable } from "../explain-failure.ts";
import { certificateChecks } from "./certificates.ts";
import { databaseChecks } from "./database.ts";
import { deploymentChecks } from "./deployment-checks.ts";
import { type DoctorContext, type Finding, makeUnreachableFinding } from "./doctor-context.ts";
import { encryptionChecks } from "./encryption.ts";
import { externalServiceChecks } from "./external-service-checks.ts";
import { limitsChecks, mailChecks, paymentChecks } from "./limits-mail-and-payment-checks.ts";
import { machineChecks } from "./machine.ts";
import { planeChecks } from "./plane.ts";

/** Yields each finding as soon as it is known, so that a slow check does not delay earlier results. */
export async function* runChecks(examined: DoctorContext): AsyncGenerator<Finding> {
  const { config } = examined;
  yield* machineChecks(config);
  yield* storeChecks(examined);
  yield* limitsChecks(examined);
  yield* planeChecks(examined);
  yield* certificateChecks(examined);
  yield* mailChecks(examined);
  yield* paymentChecks(examined);
  yield* encryptionChecks(examined);
  yield* externalServiceChecks(examined);
}

async function* storeChecks({ config, clock, isStarting }: DoctorContext): AsyncGenerator<Finding> {
  // The private database does not exist yet, because the start sets it up.
  if (isStarting && config.databaseUrl === undefined) return;
  const connection = await connectionOf(config);
  if (connection === undefined) {
    yield passedCheck("database", `the gateway starts its private PostgreSQL in the directory ${config.dataDir}`);
    return;
  }
  const pool = openPool(connection, { log: createErrorLog("silent"), sizeMax: 2 });
  try {
    await assertReachable(pool, "DATABASE_URL");
    yield* databaseChecks({ pool, connection, config, clock, ...(isStarting && { isStarting }) });
    if (!isStarting) yield* deploymentChecks(pool, config);
  } catch (error) {
    const { next = "look at the database's log, and check DATABASE_URL" } = error as { next?: string };
    yield makeUnreachableFinding("database", error, next);
  } finally {
    await pool.end();
  }
}

async function connectionOf({ databaseUrl, dataDir }: DoctorContext["config"]): Promise<Connection | undefined> {
  if (databaseUrl !== undefined) return { connectionString: databaseUrl };
  // Undefined for a directory that was never used.
  return await findPrivatePostgres({ dataDir }).catch((error) => {
    if (error instanceof PrivatePostgresError) return undefined;
    throw error;
  });
}

/** Logs problems that the checks find when `serve` starts. The start itself logs unreachable services. */
export async function logFindings(surroundings: Omit<DoctorContext, "isStarting">, log: Log): Promise<void> {
  try {
    for await (const { name: check, verdict, detail, next, isAway } of runChecks({
      ...surroundings,
      isStarting: true,
    })) {
      const level = isAway || verdict === "ok" ? "debug" : verdict === "warn" ? "warn" : "error";
      log[level]({ check, ...(next !== undefined && { next }) }, `check ${verdict}: ${detail}`);
    }
  } catch (error) {
    log.error({ err: error }, "the start-up checks failed");
  }
}
