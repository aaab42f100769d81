/**
 * The gateway's connection to NATS, kept up for as long as the gateway lives. While it is away nothing is kept for later: what
 * is published then is dropped, because whoever waits for an answer has been told that the nodes are gone. An outage is
 * logged when it begins, when its reason changes and when it is over.
 */
import type { NatsConnection, Subscription } from "@nats-io/transport-node";
import type { Clock } from "../../base/clock.ts";
import type { Dependency } from "../../base/dependency.ts";
import type { Log } from "../../base/log.ts";
import { NatsUnusable } from "./connect.ts";

const RETRY_MS_MIN = 50;
const RETRY_MS_MAX = 2_000;
const ANSWER_MS_MAX = 2_000;
const FLUSH_MS_MAX = 1_000;
const AWAY = "there is no connection to NATS";

type Receive = (subject: string, payload: Uint8Array) => void;

interface ReconnectingOptions {
  dial: () => Promise<NatsConnection>;
  /** Connected again after an outage; subscriptions are in place. */
  back: () => void;
  away: () => void;
  /** A subscriber threw. */
  failed: (subject: string, error: unknown) => void;
  clock: Clock;
  log: Log;
}

/** There is no connection to a NATS server now. */
export class PlaneAway extends Error {
  override name = "PlaneAway";
}

interface Subscribed {
  pattern: string;
  receive: Receive;
  /** On the connection of now. */
  live: Subscription | undefined;
}

export class ReconnectingConnection implements Dependency {
  readonly name = "plane";
  readonly latencyMs = null;
  readonly #options: ReconnectingOptions;
  readonly #subscribed = new Set<Subscribed>();
  #connection: NatsConnection | undefined;
  #outage: { since: number; reason: string } | undefined;
  #closing = false;
  #stopWaiting = (): void => {};
  #maintained: Promise<void> = Promise.resolve();

  constructor(options: ReconnectingOptions) {
    this.#options = options;
  }

  /**
   * Resolves once connected, or once the servers turned out to be away: then it goes on trying. A mistake in the set-up
   * stops the start.
   */
  async open(): Promise<void> {
    try {
      this.#use(await this.#options.dial());
    } catch (error) {
      if (error instanceof NatsUnusable) throw error;
      this.#failed(error);
    }
    this.#maintained = this.#maintain();
  }

  get isAway(): boolean {
    return this.#living() === undefined;
  }

  publish(subject: string, payload: Uint8Array): void {
    this.#living()?.publish(subject, payload);
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

  /** Rejects with `PlaneAway`, or when no answer comes in time. */
  async ask(subject: string): Promise<string> {
    const connection = this.#living();
    if (connection === undefined) throw new PlaneAway(AWAY);
    return (await connection.request(subject, new Uint8Array(0), { timeout: ANSWER_MS_MAX })).string();
  }

  /** Resolves when the server has passed on everything published so far. */
  async flush(): Promise<void> {
    const connection = this.#living();
    if (connection === undefined) throw new PlaneAway(AWAY);
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

  /** Runs until `close`. */
  async #maintain(): Promise<void> {
    for (let failures = 0; !this.#closing; ) {
      const connection = this.#connection;
      if (connection !== undefined) {
        failures = 0;
        const reason = await connection.closed();
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
    log.info({ server: connection.getServer(), awayMs }, "the dispatch plane is back");
    this.#options.back();
  }

  #use(connection: NatsConnection): void {
    this.#connection = connection;
    for (const subscribed of this.#subscribed) this.#put(subscribed, connection);
    this.#logErrors(connection).catch((error) =>
      this.#options.log.error({ err: error }, "reading the connection's status failed"),
    );
  }

  #put(subscribed: Subscribed, connection: NatsConnection): void {
    const { pattern, receive } = subscribed;
    subscribed.live = connection.subscribe(pattern, {
      callback: (refusal, message) => {
        // A refused subscription is reported by the connection's status as well.
        if (refusal !== null) return;
        try {
          receive(message.subject, message.data);
        } catch (error) {
          // The client would stop reading for good.
          this.#options.failed(message.subject, error);
        }
      },
    });
  }

  /** The connection, unless it has ended, which is noticed a moment later. */
  #living(): NatsConnection | undefined {
    return this.#connection?.isClosed() ? undefined : this.#connection;
  }

  /** What the server complains of. */
  async #logErrors(connection: NatsConnection): Promise<void> {
    for await (const status of connection.status()) {
      if (status.type === "error") this.#options.log.error({ reason: status.error.message }, "NATS reports an error");
    }
  }

  #lost(reason: Error | undefined): void {
    this.#connection = undefined;
    for (const subscribed of this.#subscribed) subscribed.live = undefined;
    if (this.#closing) return;
    this.#failed(reason ?? new Error("the connection was closed"));
    this.#options.away();
  }

  #failed(error: unknown): void {
    const { clock, log } = this.#options;
    const reason = error instanceof Error ? error.message : String(error);
    if (this.#outage?.reason === reason) return;
    const begins = this.#outage === undefined;
    this.#outage = { since: this.#outage?.since ?? clock.monotonic(), reason };
    if (begins) log.error({ reason }, "the dispatch plane is away; no node can be reached until it is back");
    else log.warn({ reason }, "the dispatch plane is still away");
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

  /** What was published last leaves before the connection does, if the server takes it in time. */
  async #flush(connection: NatsConnection): Promise<void> {
    let cancel = (): void => {};
    const late = new Promise<void>((resolve) => {
      cancel = this.#options.clock.after(FLUSH_MS_MAX, resolve);
    });
    const flushed = connection.flush().catch((error: Error) => {
      this.#options.log.warn({ reason: error.message }, "left NATS before everything was sent");
    });
    await Promise.race([flushed, late]);
    cancel();
  }
}
