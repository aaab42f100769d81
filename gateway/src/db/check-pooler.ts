/**
 * Detects poolers that may give each transaction another session (pgbouncer's `pool_mode = transaction` or
 * `statement`). A gateway needs sessions of its own: it listens for messages, holds advisory locks, prepares statements
 * and is counted by its connections. In a shared session each of these fails silently.
 */
import { z } from "zod";
import { DatabaseClient, type DatabaseClientConfig } from "./database-client.ts";
import { queryOne, row } from "./rows.ts";
import { DatabaseMisconfigured } from "./session-settings.ts";

const Backend = row({ pid: z.int() });
const ASK = "select pg_backend_pid() as pid";
/**
 * How often each of the two connections is asked for its session. An idle pooler gives the second connection the
 * session that the first one just used, so the first round detects it. A busy pooler needs more rounds.
 */
const ROUNDS = 4;

/**
 * Queries the session's ID on two connections in turn. Rejects if they share sessions. Does nothing on a direct
 * connection to a server.
 */
export async function assertPoolerKeepsSessions(config: DatabaseClientConfig): Promise<void> {
  // `isPooled` was set when this process first connected.
  if (!config.places?.isPooled) return;
  const clients = [new DatabaseClient(config), new DatabaseClient(config)];
  try {
    const pids: (number | undefined)[] = [];
    for (const client of clients) {
      client.on("error", () => {});
      await client.connect();
    }
    for (let asked = 0; asked < ROUNDS * clients.length; asked++) {
      const at = asked % clients.length;
      const { pid } = await queryOne(clients[at] as DatabaseClient, Backend, ASK);
      if ((pids[at] ?? pid) !== pid || pids[1 - at] === pid) {
        throw new DatabaseMisconfigured(
          "a connection pooler shares the database's sessions between connections (pool_mode = transaction or statement), but each connection of Tollgate needs its own session: " +
            "set pool_mode = session for this database in the pooler, or connect to PostgreSQL itself",
        );
      }
      pids[at] = pid;
    }
  } finally {
    for (const client of clients) client.connection.stream.destroy();
  }
}
