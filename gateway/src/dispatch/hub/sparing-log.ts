/** A log for what strangers cause: so many lines a minute and then their number, so that nobody can fill a disk. */
import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";

const LINES_MAX = 60;
const WINDOW_MS = 60_000;

export interface SparingLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export function sparingLog(log: Log, clock: Clock): SparingLog {
  let windowStart = Number.NEGATIVE_INFINITY;
  let lines = 0;
  const admit = (): boolean => {
    const now = clock.monotonic();
    if (now - windowStart >= WINDOW_MS) {
      if (lines > LINES_MAX) log.warn({ lines: lines - LINES_MAX }, "plane: more of the kind was not written");
      windowStart = now;
      lines = 0;
    }
    lines += 1;
    return lines <= LINES_MAX;
  };
  return {
    info: (fields, message) => admit() && log.info(fields, message),
    warn: (fields, message) => admit() && log.warn(fields, message),
  };
}
