/** Closes a database connection immediately, without notifying the server, which may not respond. */
import type pg from "pg";

/** Pending queries fail with `error`. */
export function cut(client: pg.Client, error: Error): void {
  client.connection.stream.destroy(error);
}
