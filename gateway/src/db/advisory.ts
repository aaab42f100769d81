/** The advisory locks of a Tollgate database, in one place so that no two meanings share a number. */

/** "toll": the first half of every lock of ours, so that other users of the server are not in the way. */
export const LOCK_CLASS = 0x746f6c6c;

export const LOCK = {
  /** Held by the gateway that owns a private PostgreSQL, in the database `postgres`. */
  dataDirectory: 1,
  /** Held while migrations run, in the database they change. */
  migration: 2,
  /** Held by the gateway that checks the ledger, in their database. */
  books: 3,
  /** Held by whoever drops old records of requests, in their database. */
  retention: 4,
} as const;
