/**
 * Keeps the agent connected to the dispatch plane: reconnects when the connection is lost, fetches the plane's address
 * again when it is unreachable, and changes to a new connection before the credentials expire. The change waits for a
 * moment without jobs, if one comes in time. The new connection opens before the old one closes, so the node is always
 * reachable.
 */
import { type Clock, sleep } from "../clock.ts";
import type { Log } from "../log.ts";
import { type PlaneConnection, type PlaneCredentials, type PlaneDialer, PlaneRefusal } from "./plane-connection.ts";
import { BACKLOG_BYTES_MAX, PublishBacklog } from "./publish-backlog.ts";

const RETRY_MS_MIN = 100;
const RETRY_MS_MAX = 5_000;
const RENEWAL_RETRY_MS = 10_000;
/**
 * The interval of fetching credentials while the plane is unreachable. They contain its address, which may have
 * changed.
 */
const ASK_AGAIN_MS = 30_000;
const FLUSH_MS_MAX = 2_000;
/**
 * Credentials that seem expired on arrival prove that this machine's clock is wrong. The agent then assumes this
 * lifetime.
 */
const ASSUMED_LIFE_MS = 10 * 60_000;
const NOT_READING = "connected to the gateway's message server (dispatch plane), but it does not accept messages";

interface LinkOptions {
  /** The connection's name on the broker: the node's id. */
  name: string;
  dial: PlaneDialer;
  credentials: () => Promise<PlaneCredentials>;
  subscriptions: Record<string, (payload: Uint8Array) => void>;
  /** Returns whether no job is running. */
  idle: () => boolean;
  /** Called when the connection is open; sends the first state report. */
  connected: () => void;
  /** Called when the plane has received the first state report. */
  online: () => void;
  /** Called when the connection has ended. */
  offline: (reason: Error | undefined) => void;
  /** Called when an attempt to reconnect failed. The agent tries again. */
  trouble: (reason: Error) => void;
  clock: Clock;
  log: Log;
  random?: () => number;
}

interface TimedCredentials {
  credentials: PlaneCredentials;
  /** When two thirds of the credentials' lifetime have passed. The agent then fetches new ones. */
  renewAt: number;
  /**
   * When five sixths of the lifetime have passed. From then on, the agent replaces its connection even while jobs run.
   */
  changeAt: number;
}

/** A connection in use. */
interface ActiveConnection {
  connection: PlaneConnection;
  backlog: PublishBacklog;
  /** Closes a connection that is no longer usable, with the reason. */
  giveUp: (reason: Error) => void;
  over: Promise<Error | undefined>;
}

export class PlaneLink {
  readonly #options: LinkOptions;
  readonly #stopping = new AbortController();
  #active: ActiveConnection | undefined;
  #credentials: TimedCredentials | undefined;
  /** The time of the last request for credentials. */
  #askedAt = 0;
  /** Whether the latest attempt to reach the plane failed. */
  #isUnreached = false;
  #cancelTimer: (() => void) | undefined;
  /** Whether new credentials have arrived while the open connection still uses the old ones. */
  #changeDue = false;
  /** Messages published during a change of connections. */
  #waiting: { messages: [string, Uint8Array][]; bytes: number } | undefined;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  /** Keeps the agent connected until `stop` is called. */
  async run(): Promise<void> {
    const { clock, connected, online, offline, trouble } = this.#options;
    const random = this.#options.random ?? Math.random;
    const { signal } = this.#stopping;
    let failures = 0;
    while (!signal.aborted) {
      try {
        const connection = await this.#open();
        failures = 0;
        this.#use(connection);
        connected();
        await this.#flush(connection);
        online();
        const reason = await this.#ended();
        if (!signal.aborted) offline(reason);
      } catch (error) {
        this.#forgetIfRefused(error);
        if (!signal.aborted) trouble(error instanceof Error ? error : new Error(String(error)));
      }
      const delayMs = Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** Math.min(failures++, 10));
      await sleep(clock, delayMs * (0.5 + random() / 2), signal);
    }
  }

  publish(subject: string, payload: Uint8Array): void {
    const active = this.#active;
    if (active === undefined) return;
    if (this.#waiting === undefined) {
      active.connection.publish(subject, payload);
      active.backlog.published(payload.length);
      return;
    }
    this.#waiting.messages.push([subject, payload]);
    this.#waiting.bytes += payload.length;
    if (this.#waiting.bytes > BACKLOG_BYTES_MAX) active.giveUp(new Error(NOT_READING));
  }

  /** Called when the last running job has ended: changes connections if that is due. */
  quiet(): void {
    if (this.#changeDue) this.#wakeIn(0, () => this.#change());
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#cancelTimer?.();
    const active = this.#active;
    if (active === undefined) return;
    await this.#flush(active.connection);
    await active.connection.close();
  }

  async #open(): Promise<PlaneConnection> {
    const { dial, name, subscriptions, clock } = this.#options;
    if (this.#credentials === undefined || clock.now() >= this.#credentials.renewAt) await this.#fetchCredentials();
    else if (this.#isUnreached && clock.now() - this.#askedAt >= ASK_AGAIN_MS) await this.#askForAddress();
    const { credentials } = this.#credentials as TimedCredentials;
    this.#isUnreached = true;
    const connection = await dial(credentials, name);
    this.#isUnreached = false;
    if (this.#stopping.signal.aborted) {
      await connection.close();
      throw new Error("the agent is stopping");
    }
    for (const [subject, receive] of Object.entries(subscriptions)) connection.subscribe(subject, receive);
    return connection;
  }

  async #fetchCredentials(): Promise<void> {
    const { clock } = this.#options;
    this.#askedAt = clock.now();
    const credentials = await this.#options.credentials();
    const now = clock.now();
    const lifeMs = credentials.expiresAt > now ? credentials.expiresAt - now : ASSUMED_LIFE_MS;
    this.#credentials = { credentials, renewAt: now + (lifeMs * 2) / 3, changeAt: now + (lifeMs * 5) / 6 };
  }

  /** Fetches credentials, which contain the plane's address. If that fails, the agent retries with the old ones. */
  async #askForAddress(): Promise<void> {
    await this.#fetchCredentials().catch((error: unknown) => {
      this.#options.log.warn(
        { err: error },
        "could not get the dispatch plane's address from the gateway; trying the last known address",
      );
    });
  }

  #use(connection: PlaneConnection): void {
    let end: (reason: Error) => void = () => {};
    const givenUp = new Promise<Error>((resolve) => {
      end = resolve;
    });
    const giveUp = (reason: Error): void => {
      end(reason);
      connection.close().catch((error: unknown) => {
        this.#options.log.warn({ err: error }, "could not close an abandoned connection");
      });
    };
    const backlog = new PublishBacklog(
      () => connection.flush(),
      () => giveUp(new Error(NOT_READING)),
    );
    this.#active = { connection, backlog, giveUp, over: Promise.race([connection.closed, givenUp]) };
    this.#changeDue = false;
    const current = this.#credentials as TimedCredentials;
    this.#wakeIn(current.renewAt - this.#options.clock.now(), () => this.#renew());
  }

  /** Waits until the node is disconnected and returns the reason. A change to a new connection does not count. */
  async #ended(): Promise<Error | undefined> {
    while (true) {
      const active = this.#active as ActiveConnection;
      const reason = await active.over;
      if (this.#active !== active) continue;
      this.#active = undefined;
      this.#waiting = undefined;
      this.#cancelTimer?.();
      this.#forgetIfRefused(reason);
      return reason;
    }
  }

  async #renew(): Promise<void> {
    const old = this.#credentials;
    try {
      await this.#fetchCredentials();
    } catch (error) {
      this.#options.log.warn({ err: error }, "could not renew the node's credentials for the dispatch plane; retrying");
      this.#wakeIn(RENEWAL_RETRY_MS, () => this.#renew());
      return;
    }
    if (this.#active === undefined) return;
    this.#changeDue = true;
    if (this.#options.idle()) return this.#change();
    this.#wakeIn((old?.changeAt ?? 0) - this.#options.clock.now(), () => this.#change());
  }

  async #change(): Promise<void> {
    const old = this.#active;
    if (old === undefined || !this.#changeDue) return;
    this.#changeDue = false;
    let next: PlaneConnection;
    try {
      next = await this.#open();
    } catch (error) {
      this.#forgetIfRefused(error);
      this.#options.log.warn({ err: error }, "could not open a new connection to the dispatch plane; retrying");
      this.#wakeIn(RENEWAL_RETRY_MS, () => this.#renew());
      return;
    }
    // From now on, messages wait here. Those sent on the old connection must arrive before those on the new one.
    this.#waiting = { messages: [], bytes: 0 };
    await this.#flush(old.connection);
    if (this.#active !== old) return next.close();
    const { messages } = this.#waiting;
    this.#waiting = undefined;
    this.#use(next);
    for (const [subject, payload] of messages) this.publish(subject, payload);
    await old.connection.close();
  }

  async #flush(connection: PlaneConnection): Promise<void> {
    const enough = new AbortController();
    const flushed = connection.flush().catch(() => {
      // Ignored: the connection broke, and its `closed` promise reports this too.
    });
    await Promise.race([flushed, sleep(this.#options.clock, FLUSH_MS_MAX, enough.signal)]);
    enough.abort();
  }

  #wakeIn(delayMs: number, task: () => Promise<void>): void {
    this.#cancelTimer?.();
    this.#cancelTimer = this.#options.clock.after(Math.max(0, delayMs), () => {
      task().catch((error: unknown) =>
        this.#options.log.error({ err: error }, "could not switch to a new connection to the dispatch plane"),
      );
    });
  }

  #forgetIfRefused(reason: unknown): void {
    if (reason instanceof PlaneRefusal) this.#credentials = undefined;
  }
}
