/** Opens the servers that the gateways of a test platform share: a database, a dispatch plane, a limits server. */
import pg from "pg";
import { sessionOptions } from "../gateway/src/db/session-settings.ts";
import { formatConnectionUrl, openTestDatabase, type TestDatabase } from "../gateway/src/db/testing.ts";
import { findValkeyServer, startValkeyServer, type TestValkeyServer } from "../gateway/src/limits/testing-limits.ts";
import { type NatsPlane, openNats } from "./dispatch-planes.ts";
import {
  PRIVATE_DATABASE_ENV,
  type Query,
  readPrivateDatabaseConfig,
  TEST_KEY_PEPPER,
  WITHOUT_DURABLE_COMMITS,
} from "./stage-database.ts";

/**
 * Turns quarantine and probation off, for platforms whose nodes are all honest, like those of `tollgate dev`. The
 * scripted engine has no answer to a canary (a question with a known answer), and is faster than a real model can be.
 */
export const NO_QUARANTINE_OR_PROBATION_ENV = { AUTO_QUARANTINE: "false", PROBATION_ANSWERS: "0" };

export interface SharedServerOptions {
  /**
   * "shared" (default): a database on the test run's server; with `sql`, one with only the migrations in that
   * directory. "private": the PostgreSQL that a gateway starts by itself, for tests of its files and its log; only if
   * the gateways run as separate processes.
   */
  store?: "shared" | "private" | { sql: string };
  /**
   * "hub" (default): the plane inside the gateway, so there can be only one gateway. "nats": a NATS server of the test
   * platform.
   */
  plane?: "hub" | "nats";
  /** "memory" (default): each gateway counts for itself. "valkey": a Valkey or Redis server of the test platform. */
  limits?: "memory" | "valkey";
}

export interface SharedServers {
  /** Undefined if the gateway starts its private database. */
  database: TestDatabase | undefined;
  query: Query;
  /**
   * Closes the connections of `query`; the next query opens them again. A private PostgreSQL does not stop while they
   * are open.
   */
  stopLooking(): Promise<void>;
  /** Undefined if the plane is the hub. */
  nats: NatsPlane | undefined;
  /** Undefined if each gateway counts rate limits in its own memory, or if neither Valkey nor Redis is installed. */
  valkey: TestValkeyServer | undefined;
  /** The environment of every gateway. */
  env: Record<string, string>;
  close(): Promise<void>;
}

/** Opens the servers. `dataDir`: the first gateway's data directory. */
export async function openSharedServers(
  { store = "shared", plane, limits }: SharedServerOptions,
  dataDir?: string,
): Promise<SharedServers> {
  const database = store === "private" ? undefined : await openTestDatabase(store === "shared" ? {} : store);
  const nats = plane === "nats" ? await openNats() : undefined;
  const binary = limits === "valkey" ? findValkeyServer() : undefined;
  const valkey = binary === undefined ? undefined : await startValkeyServer(binary);
  // Connects under an application name of its own: a connection with a gateway's name would look like a gateway that
  // still runs.
  const openLooks = async (): Promise<pg.Pool> => {
    const where = database === undefined ? await readPrivateDatabaseConfig(dataDir as string) : configOf(database);
    const pool = new pg.Pool({
      ...where,
      options: sessionOptions(),
      application_name: "what a test looks up",
    });
    // Ignores the error that a connection in the process of closing reports when its database is dropped.
    pool.on("error", () => {});
    return pool;
  };
  let looks: Promise<pg.Pool> | undefined;
  const stopLooking = async (): Promise<void> => {
    await (await looks)?.end();
    looks = undefined;
  };
  return {
    database,
    async query(sql, values = []) {
      looks ??= openLooks();
      return (await (await looks).query(sql, values)).rows;
    },
    stopLooking,
    nats,
    valkey,
    env: {
      ...nats?.env,
      ...(valkey !== undefined && { VALKEY_URL: valkey.url }),
      ...(database === undefined
        ? PRIVATE_DATABASE_ENV
        : { DATABASE_URL: formatConnectionUrl(database.connection), ...WITHOUT_DURABLE_COMMITS }),
      KEY_PEPPER: TEST_KEY_PEPPER,
    },
    async close() {
      await nats?.close();
      await valkey?.kill();
      await stopLooking();
      await database?.close();
    },
  };
}

const configOf = ({ connection }: TestDatabase): pg.PoolConfig => ({
  connectionString: formatConnectionUrl(connection),
});
