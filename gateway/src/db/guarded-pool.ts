/**
 * A gateway's connection pool. While the database is unreachable, queries are refused immediately, and waits for connections and locks
 * are short enough for callers that must answer a client.
 */
import pg from "pg";
import type { Log } from "../base/log.ts";
import { DESCRIBES_CHANGES } from "./changes.ts";
import { isConnectionLoss } from "./errors.ts";
import { guardedClients, type StoreGuard } from "./guard.ts";
import { type Connection, poolConfig } from "./pool.ts";

/** The timeout for opening a connection or waiting for one. Clients wait at most five seconds. */
const CONNECT_MS_MAX = 4_000;
const LOCK_MS_MAX = 4_000;

interface GuardedPoolOptions {
  guard: StoreGuard;
  log: Log;
  sizeMax: number;
  sizeKept?: number;
  sessionOptions?: string;
  /** How long a statement waits for a lock. */
  lockMsMax?: number;
}

export function openGuardedPool(connection: Connection, options: GuardedPoolOptions): pg.Pool {
  const { guard, log, lockMsMax = LOCK_MS_MAX, sessionOptions = "", ...rest } = options;
  const pool = new GuardedPool(guard, {
    ...poolConfig(connection, {
      ...rest,
      sessionOptions: `${DESCRIBES_CHANGES} ${sessionOptions}`,
      connectMsMax: CONNECT_MS_MAX,
    }),
    lock_timeout: lockMsMax,
    Client: guardedClients(guard),
  });
  guard.watchPool(pool);
  // Without a listener a lost connection would end the process. The pool replaces it, and its query fails.
  pool.on("connect", (client) => {
    client.once("error", (error) => guard.lost(error));
    // The server's final message and the closed connection are two errors; the first says more.
    client.on("error", () => {});
  });
  pool.on("error", () => log.debug({ connections: pool.totalCount }, "idle database connection closed"));
  pool.on("acquire", (client) => guard.taken(client));
  pool.on("release", (error, client) => {
    guard.givenBack(client);
    // The query failed, so its connection is not used again.
    if (error instanceof Error && isConnectionLoss(error)) void guard.health.suspect();
  });
  return pool;
}

type Given = (error: Error | undefined, client: pg.PoolClient | undefined, release: (error?: Error) => void) => void;

/** Queries pass here too: each takes a connection from the pool. */
class GuardedPool extends pg.Pool {
  readonly #guard: StoreGuard;

  constructor(guard: StoreGuard, config: pg.PoolConfig) {
    super(config);
    this.#guard = guard;
  }

  override connect(): Promise<pg.PoolClient>;
  override connect(callback: Given): void;
  override connect(callback?: Given): Promise<pg.PoolClient> | undefined {
    const { health } = this.#guard;
    if (!health.isAway) {
      health.used();
      if (callback === undefined) return super.connect();
      super.connect(callback);
      return undefined;
    }
    if (callback === undefined) return Promise.reject(health.refusal());
    callback(health.refusal(), undefined, () => {});
    return undefined;
  }
}
