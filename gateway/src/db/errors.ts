/**
 * Classifies database errors: an invalid statement, which is a bug of ours, or a database that cannot run it at the moment. The outcome
 * of some is unknown, because the connection was lost before the response.
 */
import { Away } from "../base/dependency.ts";

/**
 * Class 08 (connection), 57P01–57P05 (server shutting down, starting, or ending a session), 53300 (too many connections),
 * 25006 (read-only: what was the primary no longer is), 25P03 (idle too long in a transaction).
 */
const LOSS = /^(08...|57P0[1-5]|53300|25006|25P03)$/;
/**
 * Classes caused by a statement's values: cardinality, invalid values, violated constraints, and errors raised by our functions. The
 * same values would fail again.
 */
const DATA = /^(21|22|23|44|P0)...$/;
/**
 * Invalid SQL, except for errors that occur while a database is restored or migrated, or that poolers cause: a missing table, column,
 * function or other object (42P01, 42703, 42883, 42704), an existing prepared statement (42P05), a missing right (42501).
 */
const WRONG_SQL = /^42(?!501|703|704|883|P01|P05)...$/;
/** SQLSTATE codes. None starts with an E, unlike the system's codes. */
const STATE = /^[0-9FHPX][0-9A-Z]{4}$/;
/** Error codes of sockets. */
const SOCKET_CODES = new Set([
  ...["ECONNRESET", "ECONNREFUSED", "ECONNABORTED", "EPIPE", "ETIMEDOUT", "EAI_AGAIN", "ENOTFOUND"],
  ...["EHOSTUNREACH", "EHOSTDOWN", "ENETUNREACH", "ENETDOWN", "EADDRNOTAVAIL"],
]);
/** Error codes of disks and exhausted resources. */
const SHORTAGE_CODES = new Set(["ENOSPC", "EDQUOT", "EIO", "EROFS", "EMFILE", "ENFILE", "ENOMEM", "ENOBUFS"]);
/** node-postgres has no codes for these errors. */
const WORDS =
  /^(connection terminated|timeout exceeded when trying to connect|timeout expired|query read timeout|client (has encountered a connection error|was closed))/i;
const CAUSES_MAX = 5;

/** The outcome is unknown or the statement never ran: the same idempotent statement may be sent again. */
export function isConnectionLoss(error: unknown): boolean {
  return chainOf(error).some((one) => {
    const code = codeOf(one);
    return isAway(one) || LOSS.test(code) || SOCKET_CODES.has(code) || isMissingSocket(one) || WORDS.test(one.message);
  });
}

/** A database or socket error that is not a bug: a retry may succeed. */
export function isStorageTrouble(error: unknown): boolean {
  return chainOf(error).some((one) => {
    const code = codeOf(one);
    return (
      isConnectionLoss(one) ||
      SHORTAGE_CODES.has(code) ||
      (STATE.test(code) && !DATA.test(code) && !WRONG_SQL.test(code))
    );
  });
}

/** This machine ran out of disk space, memory or file descriptors. */
export const isShortage = (error: unknown): boolean => chainOf(error).some((one) => SHORTAGE_CODES.has(codeOf(one)));

/**
 * The database refused these values, so the settlement can never be entered. Any other error, including invalid SQL and bugs of ours,
 * may disappear with another database or program version.
 */
export const isDataFault = (error: unknown): boolean => chainOf(error).some((one) => DATA.test(codeOf(one)));

/** A deadlock, for which PostgreSQL rolled back this transaction. */
export const isDeadlock = (error: unknown): boolean => chainOf(error).some((one) => codeOf(one) === "40P01");

/** A statement waited for a lock for too long, or was cut off: 55P03, 57014, 40P01 (deadlock). It was rolled back. */
export const isLockWait = (error: unknown): boolean =>
  chainOf(error).some((one) => ["55P03", "57014", "40P01"].includes(codeOf(one)));

/** Classes of invalid or unknown statements: unsupported, not prepared, invalid SQL. */
const STATEMENT = /^(0A|26|42)...$/;

/** The database refused the statement. A migration may have replaced a function while it waited, so it is retried once. */
export const isRefusal = (error: unknown): boolean =>
  provesBug(error) || chainOf(error).some((one) => STATEMENT.test(codeOf(one)));

/** A retry would fail the same way. */
export const provesBug = (error: unknown): boolean => !isStorageTrouble(error);

/** The guard refused or cut off the query because the database is unreachable, which is already logged. */
export const isAway = (error: unknown): boolean =>
  chainOf(error).some((one) => one instanceof Away && one.dependency === "database");

/** The error and its causes. */
function chainOf(error: unknown): Error[] {
  const chain: Error[] = [];
  for (let one = error; one instanceof Error && chain.length < CAUSES_MAX; one = one.cause) chain.push(one);
  return chain;
}

const codeOf = (error: Error): string => ("code" in error && typeof error.code === "string" ? error.code : "");

/** A missing socket file. Any other missing file is a different problem. */
const isMissingSocket = (error: Error): boolean =>
  codeOf(error) === "ENOENT" && "syscall" in error && error.syscall === "connect";
