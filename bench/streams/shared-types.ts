/** Types that the processes of this bench share. */

/** Two words a second. */
export const PACE_MS = 500;
export const STAMPED_JOB_EVERY = 16;

/** What the clients received within a window. */
export interface WindowFigures {
  streams: number;
  events: number;
  /**
   * Each stream's duration divided by the duration that its events should have taken (1 is on time), for streams with
   * enough events.
   */
  overPace: { median: number; p99: number; max: number; late: number };
  /** Milliseconds from the node's word to the client's read of it, for streams with time stamps. */
  relayMs: { p50: number; p99: number; max: number };
  /** The number of failures by message, since the start. */
  errors: Record<string, number>;
}
