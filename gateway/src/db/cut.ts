/** Ends a connection to the database at once, without a word to the other side, which may not listen. */
import type pg from "pg";

/** What waits for an answer on it fails with `error`. */
export function cut(client: pg.Client, error: Error): void {
  client.connection.stream.destroy(error);
}
