/** Counts the injected faults by kind. */

export type FaultKind =
  /** An item of the plan: a crash, drain, cut, outage, full disk or slow connection. */
  | "struck"
  /** A statement whose connection was lost before or after the statement was carried out. */
  | "statement lost"
  /** A statement that got no connection, or one to a standby. */
  | "connection refused"
  /** A job that a node failed or answered dishonestly. */
  | "job failed"
  | "client left"
  /** A write refused by a full disk. */
  | "write refused";

export type FaultCounts = Record<FaultKind, number>;

export const zeroFaultCounts = (): FaultCounts => ({
  struck: 0,
  "statement lost": 0,
  "connection refused": 0,
  "job failed": 0,
  "client left": 0,
  "write refused": 0,
});
