/** Types that the processes of this bench share. */

/** Two words a second. */
export const PACE_MS = 500;
export const STAMPED_EVERY = 16;

/** What the clients saw within a window. */
export interface Seen {
  streams: number;
  events: number;
  /** Each stream's time over what its events should have taken, of those that had enough of them: 1 is on time. */
  overPace: { median: number; p99: number; max: number; late: number };
  /** From the node's word to the client's read of it, of the streams that carry stamps; milliseconds. */
  relayMs: { p50: number; p99: number; max: number };
  /** By what went wrong, since the start. */
  errors: Record<string, number>;
}
