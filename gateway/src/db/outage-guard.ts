/**
 * Keeps callers from waiting for an unreachable database. When the heartbeat finds it unreachable, waiting queries fail
 * at once, connections are closed, and new ones are refused until the database answers. A long query or a single lost
 * connection is no outage while the database still commits other transactions.
 */
import type pg from "pg";
import { CircuitBreaker } from "../base/circuit-breaker.ts";
import type { Clock } from "../base/clock.ts";
import { UnreachableError } from "../base/dependency.ts";
import type { Log } from "../base/log.ts";
import { type RateLimitedLog, rateLimitedLog } from "../base/rate-limited-log.ts";
import { watchCommittedChanges } from "./change-notices.ts";
import { closeImmediately } from "./close-immediately.ts";
import { DatabaseClient, parseDatabaseHosts } from "./database-client.ts";
import type { DatabaseClock } from "./database-clock.ts";
import { DatabaseHeartbeat } from "./database-heartbeat.ts";
import type { DatabaseLineage } from "./lineage/database-lineage.ts";
import type { Connection } from "./pool.ts";
import type { DurabilityMode } from "./session-settings.ts";

/**
 * A commit may hang although reads work. So when a connection has been in use for longer than this, the next heartbeat
 * also commits a transaction.
 */
const SLOW_MS = 2_000;
/** SQLSTATE of a refused connection: the limit of a role, a database or the server is reached. */
const TOO_MANY = "53300";

interface GuardOptions {
  connection: Connection;
  clock: Clock;
  log: Log;
  /** `checked`: refuses a server that can lose confirmed commits. `assumed`: accepts any. */
  durability?: DurabilityMode;
  /**
   * Refuses connections to a database whose history does not continue the known one. Undefined: any database is
   * accepted.
   */
  lineage?: DatabaseLineage;
  /** Gets a reading of the database's clock with every heartbeat. */
  time?: Pick<DatabaseClock, "read">;
}

export class DatabaseOutageGuard {
  readonly health: CircuitBreaker;
  readonly lineage: DatabaseLineage | undefined;
  readonly #heartbeat: DatabaseHeartbeat;
  readonly #connections = new Set<pg.Client>();
  readonly #pools: Pick<pg.Pool, "totalCount" | "idleCount" | "waitingCount">[] = [];
  /** Connections in use with the time since when, longest first. */
  readonly #inUse = new Map<object, number>();
  readonly #clock: Clock;
  readonly #log: Log;
  /** Connections lost since the last heartbeat. */
  #lost = 0;
  /** Connections refused by the database because there were too many. */
  tooMany = 0;
  /** Whether the database has few free connections, so that pools open no further ones (`connection-limits.ts`). */
  isShort = false;
  /** Called with each changed row of a committed transaction (`journal_change.sql`). */
  onChange: (change: string) => void = () => {};
  readonly #sparing: RateLimitedLog;

  constructor({ connection, clock, log, durability = "checked", lineage, time = { read() {} } }: GuardOptions) {
    this.#clock = clock;
    this.lineage = lineage;
    this.#log = log;
    // If the connection lists several database servers, an outdated primary is skipped even if it accepts writes.
    if (lineage !== undefined && "connectionString" in connection)
      parseDatabaseHosts(connection).suits = (client) => lineage.suits(client);
    this.#sparing = rateLimitedLog(log, clock);
    this.#heartbeat = new DatabaseHeartbeat({
      connection,
      clock,
      time,
      durability,
      lineage,
      isDoubtful: () => this.health.isAway || this.#isSlow(),
      onLost: () => void this.health.suspect(),
    });
    this.health = new CircuitBreaker({
      name: "database",
      probe: (signal) => this.#heartbeat.beat(signal),
      isUsed: () => this.#isUsed(),
      clock,
      log,
      onAway: (reason) => this.#cutAll(reason),
    });
  }

  /**
   * Starts the heartbeats. Called when the database is ready, because slow responses are normal before that, for
   * example during migrations.
   */
  watch(): void {
    this.health.watch();
  }

  /** Closes all connections after a failover, because they lead to the previous server. */
  failedOver(): void {
    this.#cutAll("it failed over");
    this.#heartbeat.close();
    void this.health.suspect();
  }

  stop(): void {
    this.health.stop();
    this.#heartbeat.close();
  }

  /**
   * From now on, the database counts as used while this pool has a connection in use or a caller that waits for one.
   */
  watchPool(pool: Pick<pg.Pool, "totalCount" | "idleCount" | "waitingCount">): void {
    this.#pools.push(pool);
  }

  /** Closes this client when the database becomes unreachable. */
  adopt(client: pg.Client): void {
    this.#connections.add(client);
    client.once("end", () => this.#connections.delete(client));
  }

  taken(client: object): void {
    this.#inUse.set(client, this.#clock.monotonic());
  }

  givenBack(client: object): void {
    this.#inUse.delete(client);
  }

  /**
   * Reports a connection that could not be opened or that broke. All that are reported before the next probe ends share
   * one log line. If the database is unreachable, the line has level debug, because the outage is logged already.
   */
  lost(error: unknown): void {
    this.#lost += 1;
    if (this.#lost > 1) return;
    void this.health.suspect().then((isAway) => {
      const connections = this.#lost;
      this.#lost = 0;
      this.#log[isAway ? "debug" : "warn"]({ err: error, connections }, "database connection lost");
    });
  }

  /**
   * Counts connections that the database refuses because a limit is reached, and logs the limit. Callers get the error.
   */
  refused(error: unknown): void {
    const { code, message } = error as { code?: string; message?: string };
    if (code !== TOO_MANY) return;
    this.tooMany += 1;
    this.isShort = true;
    const cure = "raise the connection limit of the role, database or server, or lower DATABASE_POOL_MAX";
    this.#sparing.error("", { reason: message }, `the database refuses more connections: ${cure}`);
  }

  /** Whether the database is in use. A connection that is being made counts. */
  #isUsed(): boolean {
    return this.#pools.some(({ totalCount, idleCount, waitingCount }) => totalCount > idleCount || waitingCount > 0);
  }

  #isSlow(): boolean {
    const [longest] = this.#inUse.values();
    return longest !== undefined && this.#clock.monotonic() - longest > SLOW_MS;
  }

  #cutAll(reason: string): void {
    for (const client of this.#connections)
      closeImmediately(client, new UnreachableError("database", reason, { maybeDone: true }));
  }
}

/**
 * A client class that refuses connections while the database is unreachable. The guard tracks each client from its
 * start.
 */
export function createGuardedClientClass(guard: DatabaseOutageGuard) {
  return class GuardedClient extends DatabaseClient {
    override connect(): Promise<pg.Client>;
    override connect(callback: (error: Error) => void): void;
    override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
      if (guard.health.isAway) {
        const refused = guard.health.refusal();
        if (callback === undefined) return Promise.reject(refused);
        // Deferred, because the pool serves the next waiting caller inside this callback: many callers would overflow
        // the stack.
        process.nextTick(callback, refused);
        return undefined;
      }
      guard.adopt(this);
      const connected = this.#connectChecked();
      if (callback === undefined) return connected;
      connected.then(() => callback(undefined as unknown as Error), callback);
      return undefined;
    }

    /** Connects, and resolves only if the connection leads to the right database. */
    async #connectChecked(): Promise<pg.Client> {
      await super.connect().catch((error) => {
        guard.refused(error);
        throw error;
      });
      try {
        await guard.lineage?.check(this);
      } catch (error) {
        this.forsake();
        closeImmediately(this, error as Error);
        throw error;
      }
      watchCommittedChanges(this, (change) => guard.onChange(change));
      return this;
    }
  };
}
