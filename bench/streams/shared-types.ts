/** Types and constants that the processes of this bench share. */

/** The pause between two words of a stream in milliseconds: two words a second. */
export const WORD_INTERVAL_MS = 500;
export const JOBS_PER_TIMESTAMPED_JOB = 16;

/** The clients' figures for one window of time. */
export interface TimeWindowFigures {
  streams: number;
  events: number;
  /**
   * Each stream's duration divided by the duration that its number of events should take (1: on time), for streams with
   * enough events.
   */
  overPace: { median: number; p99: number; max: number; late: number };
  /** Milliseconds from the node's sending of a word to the client's reading of it, for streams with timestamps. */
  relayMs: { p50: number; p99: number; max: number };
  /** The number of failures since the start, by message. */
  errors: Record<string, number>;
}
