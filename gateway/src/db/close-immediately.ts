/** Closes a database connection immediately, without notifying the server, which may not respond. */
import type pg from "pg";

/** Closes the socket. Pending queries fail with `error`. */
export function closeImmediately(client: pg.Client, error: Error): void {
  client.connection.stream.destroy(error);
}
