/** Structured logs. Prompts, outputs and secrets are never passed to a logger. */
import { makeReadableLogStream } from "@tollgate/terminal/log-lines.ts";
import { createPaint, wantsColours } from "@tollgate/terminal/terminal-text.ts";
import pino from "pino";
import type { EnvironmentVariables } from "./settings.ts";

export type Log = pino.Logger;

export const LOG_FORMATS = ["auto", "text", "json"] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

export function createLog(level: string, destination?: pino.DestinationStream): Log {
  const options: pino.LoggerOptions = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  return destination === undefined ? pino(options) : pino(options, destination);
}

/**
 * A stream that formats log lines for terminals. Undefined when the log is JSON. The environment decides about colors.
 */
export function logStream(
  format: LogFormat,
  out: NodeJS.WriteStream,
  env: EnvironmentVariables = { NO_COLOR: "1" },
): pino.DestinationStream | undefined {
  const isText = format === "text" || (format === "auto" && out.isTTY === true);
  return isText ? makeReadableLogStream(out, createPaint(wantsColours(out.isTTY === true, env))) : undefined;
}

/** A log on standard error, for commands that print their result to standard output. */
export function createErrorLog(level: string): Log {
  return createLog(level, logStream("auto", process.stderr) ?? pino.destination(2));
}
