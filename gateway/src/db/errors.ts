/**
 * What an error of the database says: that the statement was wrong, which is a bug of ours, or that the database cannot do it
 * now. Of the latter some leave the outcome open: the connection was lost before the answer came.
 */
import { Away } from "../base/dependency.ts";

/**
 * Class 08 (connection), 57P01–57P05 (server shutting down, starting, or ending a session), 53300 (too many connections),
 * 25006 (read-only: what was the primary no longer is), 25P03 (idle too long in a transaction).
 */
const LOSS = /^(08...|57P0[1-5]|53300|25006|25P03)$/;
/**
 * Classes of what the values of a statement are to blame for: cardinality, wrong values, broken constraints, what our own
 * functions raise. The same values fail again, whatever becomes of the database.
 */
const DATA = /^(21|22|23|44|P0)...$/;
/**
 * Wrong SQL, except for what a database gives that is being restored or migrated, or that a pooler mixes up: a table, column, function or other
 * object that is missing (42P01, 42703, 42883, 42704), a prepared statement that is there already (42P05), a missing right (42501).
 */
const WRONG_SQL = /^42(?!501|703|704|883|P01|P05)...$/;
/** SQLSTATE. No class of them begins with an E, as the system's codes do. */
const STATE = /^[0-9FHPX][0-9A-Z]{4}$/;
/** Of sockets. */
const SOCKET_CODES = new Set([
  ...["ECONNRESET", "ECONNREFUSED", "ECONNABORTED", "EPIPE", "ETIMEDOUT", "EAI_AGAIN", "ENOTFOUND"],
  ...["EHOSTUNREACH", "EHOSTDOWN", "ENETUNREACH", "ENETDOWN", "EADDRNOTAVAIL"],
]);
/** Of disks, and of what runs out. */
const SHORTAGE_CODES = new Set(["ENOSPC", "EDQUOT", "EIO", "EROFS", "EMFILE", "ENFILE", "ENOMEM", "ENOBUFS"]);
/** node-postgres has no code for these. */
const WORDS =
  /^(connection terminated|timeout exceeded when trying to connect|timeout expired|query read timeout|client (has encountered a connection error|was closed))/i;
const CAUSES_MAX = 5;

/** The outcome of the statement is unknown or it was never run: the same idempotent statement may be sent again. */
export function isConnectionLoss(error: unknown): boolean {
  return chainOf(error).some((one) => {
    const code = codeOf(one);
    return isAway(one) || LOSS.test(code) || SOCKET_CODES.has(code) || isMissingSocket(one) || WORDS.test(one.message);
  });
}

/** A database or socket error that does not prove a bug: the same thing may go well later. */
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

/** This machine has too little of something: room on a disk, memory, file descriptors. */
export const isShortage = (error: unknown): boolean => chainOf(error).some((one) => SHORTAGE_CODES.has(codeOf(one)));

/**
 * The database refused these very values, so a settlement with them can never be entered. Whatever else goes wrong, wrong SQL and errors of
 * our own code included, may go well later: with another database, or another version of this program.
 */
export const isDataFault = (error: unknown): boolean => chainOf(error).some((one) => DATA.test(codeOf(one)));

/** Two transactions waited for each other, and PostgreSQL rolled this one back. */
export const isDeadlock = (error: unknown): boolean => chainOf(error).some((one) => codeOf(one) === "40P01");

/** A statement waited for a lock for too long, or was cut off: 55P03, 57014, 40P01 (deadlock). It was rolled back. */
export const isLockWait = (error: unknown): boolean =>
  chainOf(error).some((one) => ["55P03", "57014", "40P01"].includes(codeOf(one)));

/** Classes of what is wrong with a statement, or with what the session knows of it: not supported, not prepared, wrong SQL. */
const STATEMENT = /^(0A|26|42)...$/;

/** The database refused the statement. It may have met a migration, which replaced a function while the statement waited: worth one try at once. */
export const isRefusal = (error: unknown): boolean =>
  provesBug(error) || chainOf(error).some((one) => STATEMENT.test(codeOf(one)));

/** The same thing would fail again. */
export const provesBug = (error: unknown): boolean => !isStorageTrouble(error);

/** It was refused, or cut off, because the database is known to be unreachable: the breaker's line in the log says all there is to say. */
export const isAway = (error: unknown): boolean =>
  chainOf(error).some((one) => one instanceof Away && one.dependency === "database");

/** The error and what brought it about. */
function chainOf(error: unknown): Error[] {
  const chain: Error[] = [];
  for (let one = error; one instanceof Error && chain.length < CAUSES_MAX; one = one.cause) chain.push(one);
  return chain;
}

const codeOf = (error: Error): string => ("code" in error && typeof error.code === "string" ? error.code : "");

/** A socket file that is not there; any other file that is missing is another matter. */
const isMissingSocket = (error: Error): boolean =>
  codeOf(error) === "ENOENT" && "syscall" in error && error.syscall === "connect";
