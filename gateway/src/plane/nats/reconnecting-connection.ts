/**
 * The gateway's connection to NATS. Reconnects for as long as the gateway runs. While it is unreachable, published
 * messages are dropped, because the requests that need them have already failed. An outage is logged when it begins,
 * when its reason changes and when it ends.
 */
import { createInbox, type NatsConnection, type Subscription } from "@nats-io/transport-node";
import type { Clock } from "../../base/clock.ts";
import { type Dependency, UnreachableError } from "../../base/dependency.ts";
import type { Log } from "../../base/log.ts";
import { NatsSetupError } from "./connect-to-nats.ts";
import { INBOX_PREFIX } from "./subjects.ts";

const RETRY_MS_MIN = 50;
const RETRY_MS_MAX = 2_000;
const ANSWER_MS_MAX = 2_000;
const FLUSH_MS_MAX = 1_000;
/** The status with which a server reports that a message had no subscriber. */
const NO_RESPONDERS = 503;
/** The interval of pings to the server. */
const ASK_EVERY_MS = 500;
/** After this long without an answer, missing messages are blamed on the server and not on nodes. */
const DEAF_AFTER_MS = 1_000;
/**
 * After this long without an answer the connection is closed and another server tried. Longer than the servers'
 * `write_deadline`, because before NATS 2.10 a node that does not read can block a gateway for that long.
 */
const LOST_AFTER_MS = 7_000;

type Receive = (subject: string, payload: Uint8Array) => void;

interface ReconnectingOptions {
  dial: () => Promise<NatsConnection>;
  /** Called when connected again after an outage, with all subscriptions in place. */
  back: () => void;
  away: () => void;
  /** Called when a subscriber threw. */
  failed: (subject: string, error: unknown) => void;
  /** The maximum time for a server's answer. */
  answerTimeoutMs?: number | undefined;
  clock: Clock;
  log: Log;
}

/** Thrown when the gateway is not connected to a NATS server. */
export class PlaneUnreachableError extends UnreachableError {
  override name = "PlaneAway";

  constructor() {
    super("plane", "not connected to NATS");
  }
}

interface Subscribed {
  pattern: string;
  receive: Receive;
  /** The subscription on the current connection, if any. */
  live: Subscription | undefined;
}

export class ReconnectingConnection implements Dependency {
  readonly name = "plane";
  latencyMs: number | null = null;
  readonly #options: ReconnectingOptions;
  readonly #subscribed = new Set<Subscribed>();
  #connection: NatsConnection | undefined;
  #giveUp: (reason: Error) => void = () => {};
  /** The time of the ping that is not answered yet. */
  #askedAt: number | undefined;
  /** The time of the last message. Messages count like answers to pings, because during a flood those come late. */
  #heardAt = 0;
  #outage: { since: number; reason: string } | undefined;
  #closing = false;
  #stopWaiting = (): void => {};
  #maintained: Promise<void> = Promise.resolve();

  constructor(options: ReconnectingOptions) {
    this.#options = options;
  }

  /**
   * Resolves once connected, or once the servers turn out to be unreachable; then it retries in the background. Throws
   * if the servers are set up wrongly.
   */
  async open(): Promise<void> {
    try {
      this.#use(await this.#options.dial());
    } catch (error) {
      if (error instanceof NatsSetupError) throw error;
      this.#failed(error);
    }
    this.#maintained = this.#maintain();
  }

  get isAway(): boolean {
    return this.#living() === undefined;
  }

  /**
   * Whether the server answers pings. A hanging server does not close its connections, so being connected is not
   * enough.
   */
  get hears(): boolean {
    return !this.isAway && this.#silentMs() < DEAF_AFTER_MS;
  }

  /** `reply`: the subject for replies. */
  publish(subject: string, payload: Uint8Array, reply?: string): void {
    this.#living()?.publish(subject, payload, reply === undefined ? {} : { reply });
  }

  subscribe(pattern: string, receive: Receive): () => void {
    const subscribed: Subscribed = { pattern, receive, live: undefined };
    this.#subscribed.add(subscribed);
    const connection = this.#living();
    if (connection !== undefined) this.#put(subscribed, connection);
    return () => {
      this.#subscribed.delete(subscribed);
      subscribed.live?.unsubscribe();
    };
  }

  /** Sends a request and returns the reply. Rejects with `PlaneAway`, or when no reply comes in time. */
  async ask(subject: string): Promise<string> {
    const connection = this.#living();
    if (connection === undefined) throw new PlaneUnreachableError();
    const { answerTimeoutMs: timeout = ANSWER_MS_MAX } = this.#options;
    return (await connection.request(subject, new Uint8Array(0), { timeout })).string();
  }

  /** Sends an empty message to the subject, and returns whether any connection subscribes to it. */
  async hasSubscribers(subject: string): Promise<boolean> {
    const connection = this.#living();
    if (connection === undefined) throw new PlaneUnreachableError();
    let isHeard = true;
    const inbox = createInbox(INBOX_PREFIX);
    const reports = connection.subscribe(inbox, {
      callback: (_refusal, message) => {
        if (message.headers?.code === NO_RESPONDERS) isHeard = false;
      },
    });
    connection.publish(subject, new Uint8Array(0), { reply: inbox });
    // The server reports a message without subscribers before it confirms the flush, however slow the machine is.
    await connection.flush();
    reports.unsubscribe();
    return isHeard;
  }

  /** Resolves when the server has forwarded all messages published so far. */
  async flush(): Promise<void> {
    const connection = this.#living();
    if (connection === undefined) throw new PlaneUnreachableError();
    await connection.flush();
  }

  async close(): Promise<void> {
    this.#closing = true;
    this.#stopWaiting();
    const connection = this.#connection;
    if (connection !== undefined) {
      await this.#flush(connection);
      await connection.close();
    }
    await this.#maintained;
  }

  /** Reconnects whenever the connection ends, until `close`. */
  async #maintain(): Promise<void> {
    for (let failures = 0; !this.#closing; ) {
      const connection = this.#connection;
      if (connection !== undefined) {
        failures = 0;
        const { promise: givenUp, resolve } = Promise.withResolvers<Error>();
        this.#giveUp = resolve;
        const stopAsking = this.#keepAsking(connection);
        const reason = await Promise.race([connection.closed(), givenUp]);
        stopAsking();
        this.#lost(reason instanceof Error ? reason : undefined);
        continue;
      }
      await this.#wait(Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** Math.min(failures++, 10)));
      if (this.#closing) return;
      await this.#options.dial().then(
        (next) => this.#resume(next),
        (error: unknown) => this.#failed(error),
      );
    }
  }

  async #resume(connection: NatsConnection): Promise<void> {
    if (this.#closing) return connection.close();
    this.#use(connection);
    const { clock, log } = this.#options;
    const awayMs = Math.round(clock.monotonic() - (this.#outage?.since ?? clock.monotonic()));
    this.#outage = undefined;
    log.info({ server: connection.getServer(), awayMs }, "dispatch plane (NATS) is reachable again");
    this.#options.back();
  }

  #keepAsking(connection: NatsConnection): () => void {
    const { clock, log } = this.#options;
    const ask = async (): Promise<void> => {
      const askedAt = clock.monotonic();
      this.#askedAt = askedAt;
      await connection.flush();
      if (this.#connection !== connection) return;
      this.#askedAt = undefined;
      this.latencyMs = clock.monotonic() - askedAt;
    };
    const lookAgain = (): void => {
      if (this.#connection !== connection || this.#silentMs() < LOST_AFTER_MS) return;
      this.#giveUp(new Error("the NATS server does not respond"));
      connection.close().catch((error: Error) => log.warn({ reason: error.message }, "NATS server does not respond"));
    };
    return clock.every(ASK_EVERY_MS, () => {
      if (this.#askedAt === undefined) {
        // A failure ends the connection, which `closed` reports.
        ask().catch(() => {});
      } else if (this.#silentMs() >= LOST_AFTER_MS) {
        // Messages in the socket's buffer arrived in time, so they are read before the connection is given up as lost.
        clock.soon(lookAgain);
      }
    });
  }

  /** The time without any message since the ping that is not answered yet. */
  #silentMs(): number {
    if (this.#askedAt === undefined) return 0;
    return this.#options.clock.monotonic() - Math.max(this.#askedAt, this.#heardAt);
  }

  #use(connection: NatsConnection): void {
    this.#connection = connection;
    this.#askedAt = undefined;
    for (const subscribed of this.#subscribed) this.#put(subscribed, connection);
    this.#logErrors(connection).catch((error) =>
      this.#options.log.error({ err: error }, "could not read the status of the NATS connection"),
    );
  }

  #put(subscribed: Subscribed, connection: NatsConnection): void {
    const { pattern, receive } = subscribed;
    subscribed.live = connection.subscribe(pattern, {
      callback: (refusal, message) => {
        // The status stream also reports refused subscriptions, which end nothing.
        if (refusal !== null || this.#connection !== connection) return;
        this.#heardAt = this.#options.clock.monotonic();
        try {
          receive(message.subject, message.data);
        } catch (error) {
          // An exception here would stop the NATS client's reading permanently.
          this.#options.failed(message.subject, error);
        }
      },
    });
  }

  /** The connection. Undefined if it has ended, even if `closed` has not resolved yet. */
  #living(): NatsConnection | undefined {
    return this.#connection?.isClosed() ? undefined : this.#connection;
  }

  /** Logs errors that the server reports. */
  async #logErrors(connection: NatsConnection): Promise<void> {
    for await (const status of connection.status()) {
      if (status.type === "error") this.#options.log.error({ reason: status.error.message }, "NATS reported an error");
    }
  }

  #lost(reason: Error | undefined): void {
    this.#connection = undefined;
    for (const subscribed of this.#subscribed) subscribed.live = undefined;
    if (this.#closing) return;
    this.#failed(reason ?? new Error("the connection to NATS was closed"));
    this.#options.away();
  }

  #failed(error: unknown): void {
    const { clock, log } = this.#options;
    const reason = error instanceof Error ? error.message : String(error);
    if (this.#outage?.reason === reason) return;
    const begins = this.#outage === undefined;
    this.#outage = { since: this.#outage?.since ?? clock.monotonic(), reason };
    if (begins)
      log.error({ reason }, "dispatch plane (NATS) is unreachable; until it is back, no request can reach a node");
    else log.warn({ reason }, "dispatch plane (NATS) is still unreachable");
  }

  #wait(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#options.clock.after(delayMs, resolve);
      this.#stopWaiting = () => {
        cancel();
        resolve();
      };
    });
  }

  /** Sends pending messages before the connection closes, if the server accepts them in time. */
  async #flush(connection: NatsConnection): Promise<void> {
    let cancel = (): void => {};
    const late = new Promise<void>((resolve) => {
      cancel = this.#options.clock.after(FLUSH_MS_MAX, resolve);
    });
    const flushed = connection.flush().catch((error: Error) => {
      this.#options.log.warn({ reason: error.message }, "disconnected from NATS before all messages were sent");
    });
    await Promise.race([flushed, late]);
    cancel();
  }
}
