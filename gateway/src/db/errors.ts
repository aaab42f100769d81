/**
 * What an error of the store says: that it could not be reached, that it is in trouble, or that what was asked of it is
 * wrong. Only the last is final.
 */
import { Away } from "../base/dependency.ts";

/** Class 08 (connection), 57P01–57P03 (server shutting down or starting), 53300 (too many connections). */
const CODES = /^(08...|57P0[123]|53300)$/;
const SYSTEM_CODES = new Set([
  "ECONNRESET",
  "ECONNREFUSED",
  "ECONNABORTED",
  "EPIPE",
  "ENOENT",
  "ENOTFOUND",
  "ENOTCONN",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "EHOSTDOWN",
  "ENETUNREACH",
  "ENETDOWN",
  "EAI_AGAIN",
  "EMFILE",
  "ENFILE",
]);
const SQLSTATE = /^[0-9A-Z]{5}$/;
/** 40 transaction rollback, 53 resources (a full disk), 57 intervention, 58 the system, XX the server itself; 25006 read only. */
const TROUBLE = /^(08|40|53|57|58|XX)|^25006$/;
/** 22 data, 23 constraints, 42 syntax and names (42501 is a grant that is missing), P0001 raised by our functions. */
const BUG = /^(22|23)|^42(?!501)|^P0001$/;
/** node-postgres has no code for these. */
const LOST =
  /connection terminated|timeout exceeded when trying to connect|client has encountered a connection error|query read timeout|timeout expired|client was closed|after calling end on the pool/i;

/** The outcome of the statement is unknown or it was never run: the same idempotent statement may be sent again. */
export function isConnectionLoss(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  return CODES.test(code) || SYSTEM_CODES.has(code) || LOST.test(error.message);
}

/** The store is away, full or at odds with itself. It says nothing about what was asked, which may be asked again. */
export function isStorageTrouble(error: unknown): boolean {
  if (error instanceof Away || isConnectionLoss(error)) return true;
  return error instanceof Error && TROUBLE.test(codeOf(error));
}

/** Asking again would fail again: the statement or its values are wrong, or the fault is not the store's at all. */
export function provesBug(error: unknown): boolean {
  if (isStorageTrouble(error)) return false;
  const code = error instanceof Error ? codeOf(error) : "";
  return !SQLSTATE.test(code) || BUG.test(code);
}

const codeOf = (error: Error): string => ("code" in error && typeof error.code === "string" ? error.code : "");
