/** Structured logs on standard error. Prompts, outputs and secrets are never passed to a logger. */
import { makeReadableLogStream } from "@tollgate/terminal/log-lines.ts";
import type { Paint } from "@tollgate/terminal/terminal-text.ts";
import pino from "pino";

export type Log = pino.Logger;

export const LOG_LEVELS = ["silent", "fatal", "error", "warn", "info", "debug", "trace"];

/** Readable lines on a terminal, JSON elsewhere. */
export function createLog(level: string, paint: Paint): Log {
  const { stderr } = process;
  const destination = stderr.isTTY ? makeReadableLogStream(stderr, paint) : pino.destination({ fd: 2, sync: true });
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination);
}

/**
 * Describes an unexpected error by its kind and stack. The message is left out because it may quote input, as
 * `JSON.parse` does.
 */
export function describeWithoutMessage(error: unknown): { error: string; at: string[] } {
  if (!(error instanceof Error)) return { error: typeof error, at: [] };
  const at = (error.stack ?? "").split("\n").filter((line) => line.startsWith("    at "));
  return { error: error.name, at: at.map((line) => line.trim()) };
}
