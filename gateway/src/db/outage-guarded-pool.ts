/**
 * A gateway's connection pool. While the database is unreachable, it refuses queries at once. Waits for connections and
 * locks are short enough for callers that must answer a client.
 */
import pg from "pg";
import type { Log } from "../base/log.ts";
import { CHANGE_NOTICES_STARTUP_OPTION } from "./change-notices.ts";
import { hasConnectionWaits, withinConnectionWaits } from "./connection-waits.ts";
import { isConnectionLoss } from "./errors.ts";
import { createGuardedClientClass, type DatabaseOutageGuard } from "./outage-guard.ts";
import { type Connection, poolConfig } from "./pool.ts";

/**
 * The timeout for opening a connection or waiting for a free one. A builder must get the 503 within 5 s
 * (docs/operators/failures.md).
 */
const CONNECT_MS_MAX = 4_000;
const LOCK_MS_MAX = 4_000;

interface GuardedPoolOptions {
  guard: DatabaseOutageGuard;
  log: Log;
  sizeMax: number;
  sizeKept?: number;
  sessionOptions?: string;
  /** How long a statement waits for a lock, in ms. */
  lockMsMax?: number;
}

export function openGuardedPool(connection: Connection, options: GuardedPoolOptions): pg.Pool {
  const { guard, log, lockMsMax = LOCK_MS_MAX, sessionOptions = "", ...rest } = options;
  const pool = new GuardedPool(guard, {
    ...poolConfig(connection, {
      ...rest,
      sessionOptions: `${CHANGE_NOTICES_STARTUP_OPTION} ${sessionOptions}`,
      connectMsMax: CONNECT_MS_MAX,
    }),
    lock_timeout: lockMsMax,
    Client: createGuardedClientClass(guard),
  });
  guard.watchPool(pool);
  // Listens for errors, because a lost connection would otherwise end the process. The pool replaces the connection,
  // and the query on it fails.
  pool.on("connect", (client) => {
    client.once("error", (error) => guard.lost(error));
    // Ignores a second error: a server that ends a connection sends a final error message, and then closes the
    // connection.
    client.on("error", () => {});
  });
  pool.on("error", () => log.debug({ connections: pool.totalCount }, "idle database connection closed"));
  pool.on("acquire", (client) => guard.taken(client));
  pool.on("release", (error, client) => {
    guard.givenBack(client);
    // A query that fails by a lost connection triggers a check of the database.
    if (error instanceof Error && isConnectionLoss(error)) void guard.health.suspect();
  });
  return pool;
}

type Given = (error: Error | undefined, client: pg.PoolClient | undefined, release: (error?: Error) => void) => void;

/**
 * Refuses connections while the database is unreachable. This includes queries, each of which takes a connection. Opens
 * no further connection while few are free.
 */
class GuardedPool extends pg.Pool {
  readonly #guard: DatabaseOutageGuard;
  readonly #sizeMax: number;

  constructor(guard: DatabaseOutageGuard, config: pg.PoolConfig) {
    super(config);
    this.#guard = guard;
    this.#sizeMax = this.options.max;
  }

  override connect(): Promise<pg.PoolClient>;
  override connect(callback: Given): void;
  override connect(callback?: Given): Promise<pg.PoolClient> | undefined {
    const { health, isShort } = this.#guard;
    if (!health.isAway) {
      health.used();
      // A pool without a connection opens one all the same, because without any it could not serve at all.
      this.options.max = isShort ? Math.min(this.#sizeMax, Math.max(1, this.totalCount)) : this.#sizeMax;
      if (callback === undefined) return withinConnectionWaits(() => super.connect());
      if (hasConnectionWaits())
        withinConnectionWaits(() => super.connect()).then(
          (client) => callback(undefined, client, (error) => client.release(error)),
          (error: Error) => callback(error, undefined, () => {}),
        );
      else super.connect(callback);
      return undefined;
    }
    if (callback === undefined) return Promise.reject(health.refusal());
    callback(health.refusal(), undefined, () => {});
    return undefined;
  }
}
