/**
 * Short messages to every gateway on the same database, by LISTEN and NOTIFY, such as "this key was revoked". Gateways would notice the
 * change later anyway, so a lost message does no harm. After a lost connection, listeners clear their caches.
 */
import type pg from "pg";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { DatabaseClient } from "./client.ts";
import { broadcastConnection } from "./connected.ts";
import { isAway } from "./errors.ts";
import type { StoreGuard } from "./guard.ts";
import { type Connection, clientConfig } from "./pool.ts";

const CHANNEL = "tollgate";
const RETRY_MS = 1_000;

/** Every gateway must read its catalogue file again. */
export const CATALOGUE_TOPIC = "catalogue";
/** The ID of an account that was suspended or restored. */
export const ACCOUNT_TOPIC = "account";
/** The ID of an account whose members changed. */
export const TEAM_TOPIC = "team";
/** The ID of a node whose records changed: `node_…`. */
export const NODE_TOPIC = "node";
/** Rows changed in a way that has no other topic: gateways clear their caches. */
export const FORGET_TOPIC = "forget";
/** The name of a shared setting that an operator changed. */
export const DEPLOYMENT_TOPIC = "deployment";

export interface Broadcast {
  send(topic: string, text: string): Promise<void>;
  /** `text` is undefined after a lost connection: any message may have been missed. */
  on(topic: string, run: (text: string | undefined) => void): void;
  close(): Promise<void>;
}

interface HeardBroadcast extends Broadcast {
  /** Makes the local listeners clear their caches. */
  forget(): void;
}

export async function openBroadcast(options: {
  pool: pg.Pool;
  connection: Connection;
  guard: Guard;
  clock: Clock;
  log: Log;
  /** The gateway's ID, when several processes are one gateway. */
  gateway?: string | undefined;
}): Promise<HeardBroadcast> {
  const listener = new Listener(options);
  await listener.listen();
  return {
    send: (topic, text) => announce(options.pool, topic, text),
    on: (topic, run) => listener.on(topic, run),
    forget: () => listener.forget(),
    close: () => listener.close(),
  };
}

/** The database functions that it needs. */
type Guard = { health: Pick<StoreGuard["health"], "isAway" | "suspect"> } & Pick<StoreGuard, "adopt"> &
  Partial<Pick<StoreGuard, "lineage">>;

interface ListenerOptions {
  connection: Connection;
  guard: Guard;
  clock: Clock;
  log: Log;
  gateway?: string | undefined;
}

/** For a process that only sends. */
export async function announce(pool: pg.Pool | pg.ClientBase, topic: string, text: string): Promise<void> {
  await pool.query("select pg_notify($1, $2)", [CHANNEL, `${topic} ${text}`]);
}

class Listener {
  readonly #options: ListenerOptions;
  readonly #runs = new Map<string, ((text: string | undefined) => void)[]>();
  #client: pg.Client | undefined;
  #closed = false;
  #recovery: Promise<void> | undefined;
  #stopWaiting = (): void => {};

  constructor(options: ListenerOptions) {
    this.#options = options;
  }

  on(topic: string, run: (text: string | undefined) => void): void {
    this.#runs.set(topic, [...(this.#runs.get(topic) ?? []), run]);
  }

  forget(): void {
    for (const runs of this.#runs.values()) for (const run of runs) run(undefined);
  }

  async listen(): Promise<void> {
    const { connection, guard, log, gateway } = this.#options;
    const client = new DatabaseClient(clientConfig(connection, broadcastConnection(gateway)));
    // The guard closes it when the database becomes unreachable: a broken network can leave an idle connection open for long.
    guard.adopt(client);
    client.on("notification", ({ payload = "" }) => {
      const space = payload.indexOf(" ");
      for (const run of this.#runs.get(payload.slice(0, space)) ?? []) run(payload.slice(space + 1));
    });
    // The "end" event follows and handles the loss.
    client.on("error", (error) => log.debug({ err: error }, "database notifications: connection lost"));
    await client.connect();
    await guard.lineage?.check(client);
    await client.query(`listen ${CHANNEL}`);
    this.#client = client;
    client.once("end", () => {
      this.#recovery = this.#recover();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#stopWaiting();
    // A reconnection may have been in progress.
    await this.#recovery;
    await this.#client?.end();
  }

  async #recover(): Promise<void> {
    const { clock, log, guard } = this.#options;
    if (this.#closed) return;
    // The outage of the database is already logged.
    if (!(await guard.health.suspect())) log.warn("database notifications: connection lost; reconnecting");
    while (!this.#closed) {
      await new Promise<void>((resolve) => {
        const cancel = clock.after(RETRY_MS, resolve);
        this.#stopWaiting = () => {
          cancel();
          resolve();
        };
      });
      if (this.#closed) return;
      if (guard.health.isAway) continue;
      try {
        await this.listen();
        this.forget();
        return;
      } catch (error) {
        log[isAway(error) ? "debug" : "warn"]({ err: error }, "database notifications: connection failed; retrying");
      }
    }
  }
}
