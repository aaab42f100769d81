/**
 * A log for events that outsiders cause. It writes one line per minute for each message and source (a few if
 * configured), with the number of suppressed ones. It also limits the lines per minute of all sources together, so that
 * outsiders cannot fill a disk. Its memory is limited too.
 */
import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";

const WINDOW_MS = 60_000;
/**
 * The most sources (such as nodes) whose lines of the same message are written within a window. Lines of further
 * sources are suppressed.
 */
const LINES_MAX = 60;

export interface RateLimitedLog {
  /**
   * `who` is the source: a node's ID or an address. Messages must be few and fixed; details belong in the fields.
   * Returns whether the line was written.
   */
  info(who: string, fields: object, message: string): boolean;
  warn(who: string, fields: object, message: string): boolean;
  error(who: string, fields: object, message: string): boolean;
}

interface Told {
  at: number;
  /** The number of lines written in this window. */
  lines: number;
  /** The number of lines suppressed in this window. */
  unsaid: number;
}

type Level = "info" | "warn" | "error";

export function rateLimitedLog(log: Log, clock: Clock, { linesOfOne = 1 } = {}): RateLimitedLog {
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

/**
 * Drops sources of past windows to have space for new ones. Their suppressed lines are added up and logged as one
 * number.
 */
function forgetOld({ told, others }: { told: Map<string, Told>; others: Told }, now: number): void {
  for (const [who, { at, unsaid }] of told) {
    if (now - at < WINDOW_MS) continue;
    told.delete(who);
    others.unsaid += unsaid;
  }
}
