/** Counts the injected faults by kind. */

export type FaultKind =
  /** An item of the plan took effect: a crash, drain, cut, outage, full disk or slow connection. */
  | "struck"
  /** A statement lost its connection before or after it was carried out. */
  | "statement lost"
  /** A statement got no connection, or a connection to a standby. */
  | "connection refused"
  /** A node failed a job or answered it dishonestly. */
  | "job failed"
  | "client left"
  /** A full disk refused a write. */
  | "write refused";

export type FaultCounts = Record<FaultKind, number>;

export const createFaultCounts = (): FaultCounts => ({
  struck: 0,
  "statement lost": 0,
  "connection refused": 0,
  "job failed": 0,
  "client left": 0,
  "write refused": 0,
});
