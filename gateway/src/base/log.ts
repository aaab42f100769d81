/** Structured logs. Prompts, outputs and secrets are never passed to a logger. */
import pino from "pino";

export type Log = pino.Logger;

export function createLog(level: string, destination?: pino.DestinationStream): Log {
  const options: pino.LoggerOptions = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  return destination === undefined ? pino(options) : pino(options, destination);
}

/** For commands whose standard output is their answer. */
export function createErrorLog(level: string): Log {
  return createLog(level, pino.destination(2));
}
