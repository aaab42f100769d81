/**
 * Classifies database errors: is the statement invalid, which is a bug of ours, or can the database not run it at the
 * moment? After some errors the outcome is unknown, because the connection was lost before the response.
 */
import { UnreachableError } from "../base/dependency.ts";

/**
 * The connection is lost or the server cannot be used: class 08 (connection), 57P01–57P05 (server shutting down,
 * starting, or ending a session), 53300 (too many connections), 25006 (read-only: the server is no longer the primary),
 * 25P03 (idle too long in a transaction).
 */
const LOSS = /^(08...|57P0[1-5]|53300|25006|25P03)$/;
/**
 * Classes caused by a statement's values: cardinality, invalid values, violated constraints, and errors raised by our
 * functions. The same values fail again until the rows that they refer to change.
 */
const DATA = /^(21|22|23|44|P0)...$/;
/**
 * Invalid SQL. Excluded are errors that also occur while a database is restored or migrated, or behind poolers: a
 * missing table, column, function or other object (42P01, 42703, 42883, 42704), an existing prepared statement (42P05),
 * a missing permission (42501).
 */
const WRONG_SQL = /^42(?!501|703|704|883|P01|P05)...$/;
/** Matches PostgreSQL's SQLSTATE codes. None starts with an E, unlike the error codes of the operating system. */
const STATE = /^[0-9FHPX][0-9A-Z]{4}$/;
/** Error codes of sockets. */
const SOCKET_CODES = new Set([
  ...["ECONNRESET", "ECONNREFUSED", "ECONNABORTED", "EPIPE", "ETIMEDOUT", "EAI_AGAIN", "ENOTFOUND"],
  ...["EHOSTUNREACH", "EHOSTDOWN", "ENETUNREACH", "ENETDOWN", "EADDRNOTAVAIL"],
]);
/** Error codes of disks and exhausted resources. */
const SHORTAGE_CODES = new Set(["ENOSPC", "EDQUOT", "EIO", "EROFS", "EMFILE", "ENFILE", "ENOMEM", "ENOBUFS"]);
/** Messages of node-postgres for errors that it gives no code. */
const WORDS =
  /^(connection terminated|timeout exceeded when trying to connect|timeout expired|query read timeout|client (has encountered a connection error|was closed))/i;
const CAUSES_MAX = 5;

/**
 * Whether the outcome is unknown or the statement never ran, so that the same idempotent statement may be sent again.
 */
export function isConnectionLoss(error: unknown): boolean {
  return chainOf(error).some((one) => {
    const code = codeOf(one);
    return (
      isDatabaseUnreachable(one) ||
      LOSS.test(code) ||
      SOCKET_CODES.has(code) ||
      isMissingSocket(one) ||
      WORDS.test(one.message)
    );
  });
}

/** Whether the error comes from the database or a socket and is not a bug, so that a retry may succeed. */
export function isRetryableDatabaseError(error: unknown): boolean {
  return chainOf(error).some((one) => {
    const code = codeOf(one);
    return (
      isConnectionLoss(one) ||
      SHORTAGE_CODES.has(code) ||
      (STATE.test(code) && !DATA.test(code) && !WRONG_SQL.test(code))
    );
  });
}

/** Whether this machine ran out of disk space, memory or file descriptors. */
export const isResourceShortage = (error: unknown): boolean =>
  chainOf(error).some((one) => SHORTAGE_CODES.has(codeOf(one)));

/**
 * Whether the database refused these values. It may accept them later, for example once a restore has ended. Any other
 * error may disappear with another database or program version, even invalid SQL and bugs of ours.
 */
export const isDataFault = (error: unknown): boolean => chainOf(error).some((one) => DATA.test(codeOf(one)));

/** Whether PostgreSQL rolled back this transaction because of a deadlock. */
export const isDeadlock = (error: unknown): boolean => chainOf(error).some((one) => codeOf(one) === "40P01");

/**
 * Whether a statement waited too long for a lock or was canceled: 55P03, 57014, 40P01 (deadlock). It was rolled back.
 */
export const isLockWait = (error: unknown): boolean =>
  chainOf(error).some((one) => ["55P03", "57014", "40P01"].includes(codeOf(one)));

/** Error classes of statements that the server cannot run: unsupported, not prepared, invalid SQL. */
const STATEMENT = /^(0A|26|42)...$/;

/**
 * Whether the database refused the statement itself. A migration may have replaced a function while the statement
 * waited, so callers retry once.
 */
export const isStatementRefused = (error: unknown): boolean =>
  isProgrammingError(error) || chainOf(error).some((one) => STATEMENT.test(codeOf(one)));

/** Whether the error is a bug of ours: a retry would fail the same way. */
export const isProgrammingError = (error: unknown): boolean => !isRetryableDatabaseError(error);

/**
 * Whether the database guard refused or cut off the query because the database is unreachable. Such outages are already
 * logged.
 */
export const isDatabaseUnreachable = (error: unknown): boolean =>
  chainOf(error).some((one) => one instanceof UnreachableError && one.dependency === "database");

/** Lists the error and its causes. */
function chainOf(error: unknown): Error[] {
  const chain: Error[] = [];
  for (let one = error; one instanceof Error && chain.length < CAUSES_MAX; one = one.cause) chain.push(one);
  return chain;
}

const codeOf = (error: Error): string => ("code" in error && typeof error.code === "string" ? error.code : "");

/** Whether a socket file is missing. Any other missing file is a different problem. */
const isMissingSocket = (error: Error): boolean =>
  codeOf(error) === "ENOENT" && "syscall" in error && error.syscall === "connect";
