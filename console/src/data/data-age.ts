/** Decides when figures count as old, so that the page marks them. Pure. */

export interface QueryReadState {
  /** When the value was last read, in milliseconds; 0 means never. */
  dataUpdatedAt: number;
  /** How many reads have failed since the last successful one. */
  failureCount: number;
  /** The refresh interval in milliseconds; false: the value is read only on request. */
  everyMs: number | false;
}

/**
 * A value is old after one refresh interval if the refresh failed, otherwise after two. `seenSinceMs`: when the page
 * became visible. Hidden pages do not refresh until they become visible again.
 */
export function isQueryDataOutdated(
  { dataUpdatedAt, failureCount, everyMs }: QueryReadState,
  { nowMs, seenSinceMs }: { nowMs: number; seenSinceMs: number },
): boolean {
  if (everyMs === false || dataUpdatedAt === 0) return false;
  if (failureCount > 0) return nowMs - dataUpdatedAt > everyMs;
  return nowMs - Math.max(dataUpdatedAt, seenSinceMs) > 2 * everyMs;
}

/** When the oldest outdated value was read; undefined if no value is outdated. */
export function findOldestRead(
  reads: QueryReadState[],
  at: { nowMs: number; seenSinceMs: number },
): number | undefined {
  const old = reads.filter((read) => isQueryDataOutdated(read, at)).map(({ dataUpdatedAt }) => dataUpdatedAt);
  return old.length === 0 ? undefined : Math.min(...old);
}
