/** Counts the injected faults by kind. */

export type FaultKind =
  /** Crashes, drains, cuts, outages, full disks, slow ways: items of the plan. */
  | "struck"
  /** A statement whose connection was lost before it was done, or after. */
  | "statement lost"
  /** A statement that was given no connection, or one to a standby. */
  | "connection refused"
  /** A job that a node failed, or lied about. */
  | "job failed"
  /** A client that left before its answer was complete. */
  | "client left"
  /** A write that a full disk refused. */
  | "write refused";

export type FaultCounts = Record<FaultKind, number>;

export const noFaults = (): FaultCounts => ({
  struck: 0,
  "statement lost": 0,
  "connection refused": 0,
  "job failed": 0,
  "client left": 0,
  "write refused": 0,
});
