/** Structured logs on standard error. Prompts, outputs and secrets are never passed to a logger. */
import pino from "pino";

export type Log = pino.Logger;

export const LOG_LEVELS = ["silent", "fatal", "error", "warn", "info", "debug", "trace"];

export function createLog(level: string): Log {
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, pino.destination({ fd: 2, sync: true }));
}

/**
 * An unexpected error without its message, which may quote what was parsed (`JSON.parse` repeats its input): the kind of
 * the error and the places it passed.
 */
export function withoutMessage(error: unknown): { error: string; at: string[] } {
  if (!(error instanceof Error)) return { error: typeof error, at: [] };
  const at = (error.stack ?? "").split("\n").filter((line) => line.startsWith("    at "));
  return { error: error.name, at: at.map((line) => line.trim()) };
}
