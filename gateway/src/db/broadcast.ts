/**
 * Sends short messages, such as "this key was revoked", to every gateway on the same database by LISTEN and NOTIFY. A
 * lost message does no harm, because gateways notice the change later anyway. After a lost connection, listeners clear
 * their caches.
 */
import type pg from "pg";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { nameBroadcastConnection } from "./connected-programs.ts";
import { DatabaseClient } from "./database-client.ts";
import { isDatabaseUnreachable } from "./errors.ts";
import type { DatabaseOutageGuard } from "./outage-guard.ts";
import { type Connection, clientConfig } from "./pool.ts";

const CHANNEL = "tollgate";
const RETRY_MS = 1_000;

/** Message: every gateway must read its catalogue file again. */
export const CATALOGUE_TOPIC = "catalogue";
/** Message: an account was suspended or restored. The text is its ID. */
export const ACCOUNT_TOPIC = "account";
/** Message: an account's members changed. The text is the account's ID. */
export const TEAM_TOPIC = "team";
/** Message: a node's records changed. The text is the node's ID, `node_…`. */
export const NODE_TOPIC = "node";
/** Message: rows changed for which no other topic exists, so gateways clear their caches. */
export const CLEAR_CACHES_TOPIC = "forget";
/** Message: an operator changed a shared setting. The text is the setting's name. */
export const DEPLOYMENT_TOPIC = "deployment";

export interface Broadcast {
  send(topic: string, text: string): Promise<void>;
  /**
   * Calls `run` with each message of the topic, and with undefined after a lost connection, when messages may be
   * missing.
   */
  on(topic: string, run: (text: string | undefined) => void): void;
  close(): Promise<void>;
}

interface HeardBroadcast extends Broadcast {
  /** Makes the listeners of this process clear their caches. */
  forget(): void;
}

export async function openBroadcast(options: {
  pool: pg.Pool;
  connection: Connection;
  guard: Guard;
  clock: Clock;
  log: Log;
  /** The ID that worker processes of one gateway share. */
  gateway?: string | undefined;
}): Promise<HeardBroadcast> {
  const listener = new Listener(options);
  await listener.listen();
  return {
    send: (topic, text) => sendBroadcast(options.pool, topic, text),
    on: (topic, run) => listener.on(topic, run),
    forget: () => listener.forget(),
    close: () => listener.close(),
  };
}

/** The functions of the database guard that a listener uses. */
type Guard = { health: Pick<DatabaseOutageGuard["health"], "isAway" | "suspect"> } & Pick<
  DatabaseOutageGuard,
  "adopt"
> &
  Partial<Pick<DatabaseOutageGuard, "lineage">>;

interface ListenerOptions {
  connection: Connection;
  guard: Guard;
  clock: Clock;
  log: Log;
  gateway?: string | undefined;
}

/** Sends a message. A process that only sends needs no listener. */
export async function sendBroadcast(pool: pg.Pool | pg.ClientBase, topic: string, text: string): Promise<void> {
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
    const client = new DatabaseClient(clientConfig(connection, nameBroadcastConnection(gateway)));
    // Lets the guard close this connection when the database becomes unreachable. Otherwise a broken network could
    // leave an idle connection open for long.
    guard.adopt(client);
    client.on("notification", ({ payload = "" }) => {
      const space = payload.indexOf(" ");
      for (const run of this.#runs.get(payload.slice(0, space)) ?? []) run(payload.slice(space + 1));
    });
    // Only logs the error: the "end" event follows and starts the reconnection.
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
    // Waits for a reconnection that may be in progress.
    await this.#recovery;
    await this.#client?.end();
  }

  async #recover(): Promise<void> {
    const { clock, log, guard } = this.#options;
    if (this.#closed) return;
    // No warning during a database outage, which is already logged.
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
        log[isDatabaseUnreachable(error) ? "debug" : "warn"](
          { err: error },
          "database notifications: connection failed; retrying",
        );
      }
    }
  }
}
