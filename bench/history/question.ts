/** A question that a console asks of a long history, and what the questions of builders, hosts and operators share. */
import type pg from "pg";
import type { Uuid } from "../../gateway/src/base/ids.ts";
import type { Range } from "../../gateway/src/history/performance.ts";
import type { Cast } from "./seed.ts";

export interface Question {
  name: string;
  /** A page of a file that is being written: it takes what it takes, and a slow reader holds it back. */
  isExport?: boolean;
  /** The newest page of a list: it has a bound of its own. */
  isNewest?: boolean;
  /** Returns how many rows it found. */
  ask: (pool: pg.Pool) => Promise<number>;
}

/** Where the 1,000th page of 50 begins; on a shorter history the oldest row stands for it. */
export interface Far {
  /** Also the place of its line in the statement. */
  request: Uuid;
  earning: Uuid;
}

export interface Setting {
  cast: Cast;
  far: Far;
  days: number;
}

const DAY_MS = 24 * 60 * 60 * 1000;
export const ago = (days: number): Date => new Date(Date.now() - days * DAY_MS);
/** A page and one row more, as the console asks for it. */
export const PAGE = 51;
export const RANGES: Range[] = ["1h", "6h", "24h", "7d", "30d", "90d"];
