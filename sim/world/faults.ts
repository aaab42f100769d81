/** Counts the injected faults by kind. */

export type FaultKind =
  /** Items of the plan: crashes, drains, cuts, outages, full disks, slow networks. */
  | "struck"
  /** A statement whose connection was lost before or after its execution. */
  | "statement lost"
  /** A statement that got no connection, or one to a standby. */
  | "connection refused"
  | "job failed"
  | "client left"
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
