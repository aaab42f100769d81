/** The type of a query that the console makes on a long history, and values that the queries of all roles share. */
import type pg from "pg";
import type { Uuid } from "../../gateway/src/base/ids.ts";
import { DAY_MS } from "../../gateway/src/base/time.ts";
import type { PerformanceRange } from "../../gateway/src/history/performance-reader.ts";
import type { SeededAccounts } from "./seed-history.ts";

export interface HistoryQuery {
  name: string;
  /** The query reads a page of an export, which has no time limit: a slow reader delays it. */
  isExport?: boolean;
  /** The query reads the newest page of a list, which has a time limit of its own. */
  isNewest?: boolean;
  /** Returns the number of rows found. */
  ask: (pool: pg.Pool) => Promise<number>;
}

/** The position where the 1,000th page of 50 rows begins; in a shorter history, the oldest row. */
export interface DeepPageCursor {
  /** The request's ID, which is also the key of the request's line in the account statement. */
  request: Uuid;
  earning: Uuid;
}

export interface QueryContext {
  cast: SeededAccounts;
  far: DeepPageCursor;
  days: number;
}

export const daysAgo = (days: number): Date => new Date(Date.now() - days * DAY_MS);
/** The rows of a page plus one, which is how the console checks for a next page. */
export const PAGE_ROWS = 51;
export const TIME_RANGES: PerformanceRange[] = ["1h", "6h", "24h", "7d", "30d", "90d"];
