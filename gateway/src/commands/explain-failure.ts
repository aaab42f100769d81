/** One-line messages with a next step for configuration and database errors. */
import { CommandError } from "@tollgate/terminal/errors.ts";
import { type ExplainError, explainSystemError } from "@tollgate/terminal/explain-failure.ts";
import type pg from "pg";
import { ListenError } from "../base/listen-error.ts";
import { ConfigError } from "../config.ts";
import { isStartupOptionsRefusal } from "../db/startup-options-refused.ts";

/** Keyed by the name of the error's class, because importing the classes would load the gateway for every command. */
const NEXT: Record<string, string> = {
  MigrationError: "tollgate migrate --plan shows the migrations that this version of Tollgate needs",
  PrivatePostgresError:
    "set DATABASE_URL if the database is elsewhere; otherwise check the data directory (--data DIR), and postgres.log in it",
  DataDirectoryInUse: "stop the other process, or use another directory (--data DIR)",
  DatabaseUrlError: "write the database's URL as postgres://user:password@host:5432/database",
  DatabaseMisconfigured:
    "correct the setting, or set DATABASE_DURABILITY=assumed for a database whose data may be lost",
};

export const explainFailure: ExplainError = (error) => {
  if (!(error instanceof Error)) return undefined;
  if (error instanceof ConfigError)
    return { message: error.message, next: "docs/operators/settings.md lists every setting" };
  if (error instanceof ListenError) {
    const remedy = `${error.remedy.charAt(0).toLowerCase()}${error.remedy.slice(1)}`;
    return {
      message: error.what,
      next: error.isPortTaken ? `${remedy}, or stop the program that uses the port` : remedy,
    };
  }
  const { what, remedy } = error as { what?: string; remedy?: string };
  if (what !== undefined) return { message: what, next: remedy };
  const next = NEXT[error.name];
  if (next !== undefined) return { message: error.message, next };
  const { code, severity } = error as { code?: string; severity?: string };
  if (severity === undefined) return undefined;
  return { message: `database query failed: ${error.message} (${code})`, next: REMEDIES[code ?? ""] ?? LOG };
};

const LOG = "look at the database's log, and check DATABASE_URL";
/** Remedies by PostgreSQL error code. */
const REMEDIES: Record<string, string> = {
  "28P01": "check the user and password in the database's URL",
  "28000": "check the user in the database's URL, and pg_hba.conf of the server",
  "3D000": "create the database (createdb), or correct its URL",
  "42P01": "tollgate migrate creates the tables",
  "42703": "tollgate migrate brings the tables up to date",
  "42501": "make the user in the database's URL the owner of the database and its tables",
  "57P03": "wait until the database has started, then try again",
};

/**
 * Connects once, so that an unreachable database is reported clearly. `from`: the setting or flag that contains its
 * URL.
 */
export async function assertReachable(pool: pg.Pool, from: string): Promise<void> {
  try {
    // Behind a pooler, the first connection is refused; the second one omits startup options and succeeds.
    await pool
      .query("select 1")
      .catch((error) => (isStartupOptionsRefusal(error) ? pool.query("select 1") : Promise.reject(error)));
  } catch (cause) {
    // The server answered, and its error says what to do.
    if (cause instanceof Error && "remedy" in cause) throw cause;
    const { code, message } = cause as Error & { code?: string };
    const reason = explainSystemError(cause)?.message ?? (code === undefined ? message : `${message} (${code})`);
    const next = REMEDIES[code ?? ""] ?? `check the address in ${from}, and that PostgreSQL runs at it`;
    throw new CommandError(`cannot connect to the database: ${reason}`, { next, cause });
  }
}
