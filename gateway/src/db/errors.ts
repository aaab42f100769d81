/** Telling a lost connection from a refused statement. */

/** Class 08 (connection), 57P01–57P03 (server shutting down or starting), 53300 (too many connections). */
const CODES = /^(08...|57P0[123]|53300)$/;
const SYSTEM_CODES = new Set(["ECONNRESET", "ECONNREFUSED", "EPIPE", "ENOENT", "ETIMEDOUT", "EAI_AGAIN"]);

/** The outcome of the statement is unknown or it was never run: the same idempotent statement may be sent again. */
export function isConnectionLoss(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  if (CODES.test(code) || SYSTEM_CODES.has(code)) return true;
  // node-postgres has no code for these.
  return /connection terminated|timeout exceeded when trying to connect|client has encountered a connection error/i.test(
    error.message,
  );
}
