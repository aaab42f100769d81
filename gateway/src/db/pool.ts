/** Opens connection pools for a database, either the private one or that of DATABASE_URL. */
import pg from "pg";
import type { Log } from "../base/log.ts";
import { makeConnectionName } from "./connected-programs.ts";
import {
  DatabaseClient,
  type DatabaseClientConfig,
  type DatabaseHosts,
  parseDatabaseHosts,
} from "./database-client.ts";
import { DatabaseUrlError } from "./database-url.ts";
import { isConnectionLoss } from "./errors.ts";
import { sessionOptions } from "./session-settings.ts";
import { getTypeParser } from "./type-parsers.ts";

/** How to connect to the database: the socket of the private PostgreSQL, or a URL. */
export type Connection = { host: string; port: number; user: string; database: string } | { connectionString: string };

const STATEMENT_MS_MAX = 30_000;
/** The timeout for opening a connection or waiting for one. */
const CONNECT_MS_MAX = 10_000;
const IDLE_MS_MAX = 30_000;

interface PoolOptions {
  log: Log;
  sizeMax: number;
  /** The number of idle connections that stay open. */
  sizeKept?: number;
  /** How long a query waits for a connection, in ms. */
  connectMsMax?: number;
  /** Startup options of PostgreSQL for every session, such as `-c jit=off`. */
  sessionOptions?: string;
  /** Checks each new connection before it is used. Rejects when the connection must not be used. */
  verify?: (client: pg.ClientBase) => Promise<void>;
}

/**
 * Session options for connections that call the ledger's functions, which touch few rows by key: cached generic plans
 * without scans of whole tables. Set per connection, because a setting in a function costs time at every call. Bitmap
 * scans are off, because they only add start-up cost for a single row.
 */
export const LEDGER_SESSION_OPTIONS =
  "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_bitmapscan=off -c jit=off";

/** Opens a pool for commands and tests, which wait for a slow database. Gateways use outage-guarded-pool.ts. */
export function openPool(connection: Connection, options: PoolOptions): pg.Pool {
  const { verify } = options;
  const pool = new pg.Pool({
    ...poolConfig(connection, options),
    ...(verify && { verify: (client, done) => void verify(client).then(() => done(), done) }),
  });
  // Listens for errors, because a lost connection would otherwise end the process. The pool replaces the connection,
  // and the query on it fails.
  pool.on("connect", (client) => {
    client.on("error", (error) => options.log.warn({ err: error }, "database connection lost"));
  });
  pool.on("error", () => options.log.debug({ connections: pool.totalCount }, "idle database connection closed"));
  return pool;
}

export const clientConfig = (
  connection: Connection,
  applicationName: string,
  options = sessionOptions(),
): DatabaseClientConfig => ({
  ...("host" in connection ? { ...connection, options } : addressed(connection, options)),
  // A socket file supports no TLS, so PGSSLMODE must not apply.
  ...("host" in connection && connection.host.startsWith("/") ? { ssl: false } : {}),
  types: { getTypeParser },
  application_name: applicationName,
  statement_timeout: STATEMENT_MS_MAX,
  keepAlive: true,
});

/**
 * Returns the configuration of a connection to a database URL. `DatabaseClient` chooses one of the URL's hosts
 * (`places`) when it connects.
 */
function addressed(connection: { connectionString: string }, options: string): DatabaseClientConfig {
  const { address, places } = placesFor(connection);
  const { user, password, database } = address;
  return {
    ...(user !== undefined && { user }),
    ...(password !== undefined && { password }),
    ...(database !== undefined && { database }),
    // PostgreSQL uses the last value of an option, so operators can override ours in the URL.
    options: address.options === undefined ? options : `${options} ${address.options}`,
    // Only the first host, for clients that do not choose among several.
    ...(address.hosts[0]?.host !== undefined && { host: address.hosts[0].host }),
    ...(address.hosts[0]?.port !== undefined && { port: address.hosts[0].port }),
    ssl: false,
    places,
  };
}

function placesFor(connection: { connectionString: string }): {
  address: DatabaseHosts["address"];
  places: DatabaseHosts;
} {
  try {
    const places = parseDatabaseHosts(connection);
    return { address: places.address, places };
  } catch (error) {
    throw error instanceof DatabaseUrlError ? new DatabaseUrlError(`The database URL ${error.message}.`) : error;
  }
}

export const poolConfig = (connection: Connection, options: Omit<PoolOptions, "log">): pg.PoolConfig => ({
  ...clientConfig(connection, makeConnectionName(), sessionOptions(options.sessionOptions)),
  Client: DatabaseClient,
  max: options.sizeMax,
  min: Math.min(options.sizeKept ?? 0, options.sizeMax),
  connectionTimeoutMillis: options.connectMsMax ?? CONNECT_MS_MAX,
  idleTimeoutMillis: IDLE_MS_MAX,
});

/** Runs `work` in a transaction. Any error rolls back and is rethrown. */
export async function inTransaction<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query("begin");
    const result = await work(client);
    const { command } = await client.query("commit");
    // PostgreSQL answers the commit of a failed transaction with ROLLBACK, not with an error.
    if (command !== "COMMIT") throw new Error("The transaction was rolled back because a statement in it failed.");
    return result;
  } catch (error) {
    try {
      await client.query("rollback");
    } catch (rollbackError) {
      // The connection's state is unknown, so it is closed with this error. The caller gets the first error.
      broken = rollbackError instanceof Error ? rollbackError : new Error(String(rollbackError));
    }
    // Closes the connection even after a successful rollback, because its server may no longer be the primary.
    if (isConnectionLoss(error)) broken ??= error as Error;
    throw error;
  } finally {
    client.release(broken);
  }
}
