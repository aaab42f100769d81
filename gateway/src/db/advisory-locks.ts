/** The advisory locks of a Tollgate database, in one place so that their numbers stay unique. */

/** "toll": the first half of every lock number, to avoid collisions with other users of the server. */
export const ADVISORY_LOCK_CLASS = 0x746f6c6c;

export const ADVISORY_LOCK_IDS = {
  /** Held by the gateway that owns a private PostgreSQL server. Taken in that server's database `postgres`. */
  dataDirectory: 1,
  /** Held while migrations run. Taken in the database that they change. */
  migration: 2,
  /** Held by the gateway that runs the ledger check. Taken in the database that contains the ledger. */
  books: 3,
  /** Held by the process that deletes old request records. Taken in the database that contains the records. */
  retention: 4,
} as const;
