/**
 * Keeps everyone from waiting for a database that is unreachable. The heartbeat tells when it is; then whatever waits on a
 * connection fails at once, the connections are closed, and new ones are refused until it answers again.
 *
 * A query that takes long is none of its business while the database commits other things, nor is a connection that was lost
 * while it answers others.
 */
import type pg from "pg";
import { Breaker } from "../base/breaker.ts";
import type { Clock } from "../base/clock.ts";
import { Away } from "../base/dependency.ts";
import type { Log } from "../base/log.ts";
import { type SparingLog, sparingLog } from "../base/sparing-log.ts";
import { DatabaseClient, placesOf } from "./client.ts";
import { cut } from "./cut.ts";
import type { DatabaseClock } from "./database-clock.ts";
import { Heartbeat } from "./heartbeat.ts";
import type { Lineage } from "./lineage/lineage.ts";
import type { Connection } from "./pool.ts";
import type { Durability } from "./session.ts";

/** A connection that is used for longer than this is reason to ask whether the database still commits. */
const SLOW_MS = 2_000;
/** SQLSTATE: too many connections, of a role, a database or the server. */
const TOO_MANY = "53300";

interface GuardOptions {
  connection: Connection;
  clock: Clock;
  log: Log;
  /** Whether a server that may lose what it confirmed is refused. */
  durability?: Durability;
  /** Compares every connection with the history that was seen. Undefined: any database will do. */
  lineage?: Lineage;
  /** Reads the database's clock with every heartbeat. Undefined: no one wants to know it. */
  time?: Pick<DatabaseClock, "read">;
}

export class StoreGuard {
  readonly health: Breaker;
  readonly lineage: Lineage | undefined;
  readonly #heartbeat: Heartbeat;
  readonly #connections = new Set<pg.Client>();
  readonly #pools: Pick<pg.Pool, "totalCount" | "idleCount" | "waitingCount">[] = [];
  /** Connections in use, by when that began: the first is the one that takes longest. */
  readonly #inUse = new Map<object, number>();
  readonly #clock: Clock;
  readonly #log: Log;
  /** Lost since the database was last asked about it. */
  #lost = 0;
  /** Connections that the database refused because there were too many. */
  tooMany = 0;
  readonly #sparing: SparingLog;

  constructor({ connection, clock, log, durability = "checked", lineage, time = { read() {} } }: GuardOptions) {
    this.#clock = clock;
    this.lineage = lineage;
    this.#log = log;
    // Of several hosts an old primary is passed over, although it takes writes.
    if (lineage !== undefined && "connectionString" in connection)
      placesOf(connection).suits = (client) => lineage.suits(client);
    this.#sparing = sparingLog(log, clock);
    this.#heartbeat = new Heartbeat({
      connection,
      clock,
      time,
      durability,
      lineage,
      isDoubtful: () => this.health.isAway || this.#isSlow(),
      onLost: () => void this.health.suspect(),
    });
    this.health = new Breaker({
      name: "database",
      probe: (signal) => this.#heartbeat.beat(signal),
      isUsed: () => this.#isUsed(),
      clock,
      log,
      onAway: (reason) => this.#cutAll(reason),
    });
  }

  /** From now on. Before, as while the schema is brought up to date, the database may take its time. */
  watch(): void {
    this.health.watch();
  }

  /** Another server took over: nothing that is connected to the one before it may go on. */
  failedOver(): void {
    this.#cutAll("it failed over");
    this.#heartbeat.close();
    void this.health.suspect();
  }

  stop(): void {
    this.health.stop();
    this.#heartbeat.close();
  }

  /** Whoever asks something of it, or waits for a connection, uses the database. */
  watchPool(pool: Pick<pg.Pool, "totalCount" | "idleCount" | "waitingCount">): void {
    this.#pools.push(pool);
  }

  /** It ends with the database. */
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

  /** A connection could not be made, or broke: one line for all of them, and none where it is the database that is unreachable. */
  lost(error: unknown): void {
    this.#lost += 1;
    if (this.#lost > 1) return;
    void this.health.suspect().then((isAway) => {
      const connections = this.#lost;
      this.#lost = 0;
      this.#log[isAway ? "debug" : "warn"]({ err: error, connections }, "database connection lost");
    });
  }

  /** A connection could not be made. Those who wait for it are told; that there may be no more of them, no one would see. */
  refused(error: unknown): void {
    const { code, message } = error as { code?: string; message?: string };
    if (code !== TOO_MANY) return;
    this.tooMany += 1;
    const cure = "raise the limit of the role, database or server, or lower DATABASE_POOL_MAX";
    this.#sparing.error("", { reason: message }, `the database refuses more connections: ${cure}`);
  }

  /** A connection that is being made is among those that are not idle. */
  #isUsed(): boolean {
    return this.#pools.some(({ totalCount, idleCount, waitingCount }) => totalCount > idleCount || waitingCount > 0);
  }

  #isSlow(): boolean {
    const [longest] = this.#inUse.values();
    return longest !== undefined && this.#clock.monotonic() - longest > SLOW_MS;
  }

  #cutAll(reason: string): void {
    for (const client of this.#connections) cut(client, new Away("database", reason, { maybeDone: true }));
  }
}

/** Connections that the guard knows of from their first moment, and refuses while the database is unreachable. */
export function guardedClients(guard: StoreGuard) {
  return class GuardedClient extends DatabaseClient {
    override connect(): Promise<pg.Client>;
    override connect(callback: (error: Error) => void): void;
    override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
      if (guard.health.isAway) {
        const refused = guard.health.refusal();
        if (callback === undefined) return Promise.reject(refused);
        // Not in this turn: the pool would go through all that wait for it in one stack.
        process.nextTick(callback, refused);
        return undefined;
      }
      guard.adopt(this);
      const connected = this.#connectChecked();
      if (callback === undefined) return connected;
      connected.then(() => callback(undefined as unknown as Error), callback);
      return undefined;
    }

    /** No one uses it before it is known to lead to the right database. */
    async #connectChecked(): Promise<pg.Client> {
      await super.connect().catch((error) => {
        guard.refused(error);
        throw error;
      });
      try {
        await guard.lineage?.check(this);
      } catch (error) {
        this.forsake();
        cut(this, error as Error);
        throw error;
      }
      return this;
    }
  };
}
