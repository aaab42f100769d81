/** When figures count as old, so that a page marks them. Pure. */

export interface Read {
  /** When it was read last, in milliseconds; 0: never. */
  dataUpdatedAt: number;
  /** How often reading it failed since. */
  failureCount: number;
  /** How often it is read; false: by hand alone. */
  everyMs: number | false;
}

/**
 * Older than its refresh where reading it fails, older than twice its refresh in any case. `seenSinceMs`: nothing is read while nobody
 * looks at the page, and is at once when somebody does.
 */
export function isOld(
  { dataUpdatedAt, failureCount, everyMs }: Read,
  { nowMs, seenSinceMs }: { nowMs: number; seenSinceMs: number },
): boolean {
  if (everyMs === false || dataUpdatedAt === 0) return false;
  if (failureCount > 0) return nowMs - dataUpdatedAt > everyMs;
  return nowMs - Math.max(dataUpdatedAt, seenSinceMs) > 2 * everyMs;
}

/** When the oldest of what is shown was read; undefined while none of it is old. */
export function oldestOf(reads: Read[], at: { nowMs: number; seenSinceMs: number }): number | undefined {
  const old = reads.filter((read) => isOld(read, at)).map(({ dataUpdatedAt }) => dataUpdatedAt);
  return old.length === 0 ? undefined : Math.min(...old);
}
