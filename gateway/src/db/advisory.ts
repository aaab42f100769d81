/** The advisory locks of a Tollgate database, in one place so that their numbers stay unique. */

/** "toll": the first half of every lock number, to avoid collisions with other users of the server. */
export const LOCK_CLASS = 0x746f6c6c;

export const LOCK = {
  /** Held by the gateway that owns a private PostgreSQL, in the database `postgres`. */
  dataDirectory: 1,
  /** Held while migrations run, in the database they change. */
  migration: 2,
  /** Held by the gateway that runs the ledger check, in its database. */
  books: 3,
  /** Held by the process that drops old request records, in its database. */
  retention: 4,
} as const;
