/** When figures count as old, so that a page marks them. Pure. */

export interface Read {
  /** When the value was last read, in milliseconds; 0: never. */
  dataUpdatedAt: number;
  /** How many reads have failed since. */
  failureCount: number;
  /** How often the value is read; false: only on request. */
  everyMs: number | false;
}

/**
 * A value is old after its refresh interval if reading fails, and after twice the interval in any case. `seenSinceMs`:
 * when the page became visible; hidden pages do not refresh, and refresh as soon as they are visible.
 */
export function isOld(
  { dataUpdatedAt, failureCount, everyMs }: Read,
  { nowMs, seenSinceMs }: { nowMs: number; seenSinceMs: number },
): boolean {
  if (everyMs === false || dataUpdatedAt === 0) return false;
  if (failureCount > 0) return nowMs - dataUpdatedAt > everyMs;
  return nowMs - Math.max(dataUpdatedAt, seenSinceMs) > 2 * everyMs;
}

/** When the oldest shown value was read; undefined while none is old. */
export function oldestOf(reads: Read[], at: { nowMs: number; seenSinceMs: number }): number | undefined {
  const old = reads.filter((read) => isOld(read, at)).map(({ dataUpdatedAt }) => dataUpdatedAt);
  return old.length === 0 ? undefined : Math.min(...old);
}
