/**
 * A log for what strangers cause: of each message one line a minute about each of them (or a few, where that is said), with the
 * number of those that were not written, and so many lines a minute in all, so that no one can fill a disk. What it remembers has a
 * bound, too.
 */
import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";

const WINDOW_MS = 60_000;
/** Of one message, about different strangers, within a window. */
const LINES_MAX = 60;

export interface SparingLog {
  /**
   * `who` caused it: a node's id, an address. The messages are few and fixed; what varies stands in the fields. Whether the line was
   * written, and not only counted.
   */
  info(who: string, fields: object, message: string): boolean;
  warn(who: string, fields: object, message: string): boolean;
  error(who: string, fields: object, message: string): boolean;
}

interface Told {
  at: number;
  /** Written since then. */
  lines: number;
  /** Not written since then. */
  unsaid: number;
}

type Level = "info" | "warn" | "error";

export function sparingLog(log: Log, clock: Clock, { linesOfOne = 1 } = {}): SparingLog {
  const messages = new Map<string, { told: Map<string, Told>; others: Told }>();

  const write = (level: Level, who: string, fields: object, message: string): boolean => {
    const now = clock.monotonic();
    const known = messages.get(message) ?? { told: new Map(), others: { at: now, lines: 0, unsaid: 0 } };
    messages.set(message, known);
    const { told, others } = known;
    const last = told.get(who);
    if (last !== undefined && now - last.at < WINDOW_MS) {
      if (last.lines < linesOfOne) {
        last.lines += 1;
        log[level](fields, message);
        return true;
      }
      last.unsaid += 1;
      return false;
    }
    if (told.size >= LINES_MAX && last === undefined) forgetOld(known, now);
    if (told.size >= LINES_MAX && last === undefined) {
      others.unsaid += 1;
      return false;
    }
    if (others.unsaid > 0 && now - others.at >= WINDOW_MS) {
      log[level]({ unsaid: others.unsaid, of: message }, "similar log lines were suppressed");
      known.others = { at: now, lines: 0, unsaid: 0 };
    }
    told.set(who, { at: now, lines: 1, unsaid: 0 });
    log[level](last !== undefined && last.unsaid > 0 ? { ...fields, unsaid: last.unsaid } : fields, message);
    return true;
  };

  return {
    info: (who, fields, message) => write("info", who, fields, message),
    warn: (who, fields, message) => write("warn", who, fields, message),
    error: (who, fields, message) => write("error", who, fields, message),
  };
}

/** Makes room for strangers that were not told of yet. What was not written about the others is told in one number. */
function forgetOld({ told, others }: { told: Map<string, Told>; others: Told }, now: number): void {
  for (const [who, { at, unsaid }] of told) {
    if (now - at < WINDOW_MS) continue;
    told.delete(who);
    others.unsaid += unsaid;
  }
}
