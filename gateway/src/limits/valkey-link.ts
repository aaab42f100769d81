/**
 * The connection to the limits server: one answer per command, in bounded time. After a timeout, an error or a lost
 * connection, the server counts as unreachable. Further commands are then refused at once, and one probe at a time
 * tests whether the server is back. An outage is logged at its start and end, however many commands it affects.
 */
import { Redis, type RedisOptions } from "ioredis";
import type { Clock } from "../base/clock.ts";
import type { Dependency } from "../base/dependency.ts";
import type { Log } from "../base/log.ts";
import { LimitsUnavailable, type UnavailableCause } from "./limits.ts";
import { startReplyTimeout } from "./valkey-reply-timeout.ts";
import { type RedisWithScripts, VALKEY_SCRIPTS } from "./valkey-scripts.ts";

/**
 * The most commands without an answer. Above it new ones are refused, because the server would not answer them in time.
 */
const UNANSWERED_MAX = 10_000;
const RECONNECT_MS_MAX = 1_000;
const CONNECT_TIMEOUT_MS = 2_000;
/** If an unreachable server has sent nothing for this long (ms), its connection is closed and pending commands fail. */
const SILENT_MS_MAX = 2_000;
const PROBE_MS_MIN = 250;
const PROBE_MS_MAX = 1_000;
/** The end of an outage is logged after this time without a failure, so that repeated short outages count as one. */
const QUIET_MS = 1_000;

type Question<T = unknown> = (redis: RedisWithScripts) => Promise<T>;

type ClientOptions = Omit<RedisOptions, "replyMapping">;
/** Creates the client that manages the connection. */
export type ConnectValkey = (url: string, options: ClientOptions) => RedisWithScripts;

interface LinkOptions {
  url: string;
  connect?: ConnectValkey | undefined;
  clock: Clock;
  log: Log;
  answerTimeoutMs: number;
  /** A command that fails while the server cannot be used, and otherwise has no effect on the counts. */
  probe: Question;
  /** Called for each command that a request waited for, if it got no answer. */
  unavailable?: ((cause: UnavailableCause) => void) | undefined;
  /** Called when the server answers again. It may have lost its data. */
  back?: () => void;
}

interface Outage {
  readonly since: number;
  /** Why the outage's first command failed. */
  readonly cause: UnavailableCause;
  /** How many commands that requests waited for have failed or were refused. */
  refused: number;
  /** When the first probe was answered. Undefined while the server is unreachable. */
  backAt: number | undefined;
  probing: boolean;
  probeMs: number;
  /** True if the last probe was answered with an error, so that a new connection would not help. */
  refusesProbes: boolean;
  stopTimer: () => void;
}

export class ValkeyLink implements Dependency {
  readonly name = "limits";
  readonly #options: LinkOptions;
  readonly #redis: RedisWithScripts;
  #unanswered = 0;
  #latencyMs: number | null = null;
  /** When the last answer arrived on this connection, or when the connection started. */
  #heardAt: number;
  #outage: Outage | undefined;
  #closing = false;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#heardAt = options.clock.monotonic();
    const { connect = (url: string, how: ClientOptions) => new Redis(url, how) as RedisWithScripts } = options;
    this.#redis = connect(options.url.replace(/^valkey(s?):/, "redis$1:"), {
      lazyConnect: true,
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      connectTimeout: CONNECT_TIMEOUT_MS,
      retryStrategy: (attempt) => Math.min(RECONNECT_MS_MAX, 25 * 2 ** Math.min(attempt, 10)),
      // Reconnects when the server has become a replica, because the address may lead to the new primary.
      reconnectOnError: (error) => error.message.startsWith("READONLY"),
      scripts: VALKEY_SCRIPTS,
    });
    this.#redis.on("error", (error: Error) => this.#failed("disconnected", error));
    this.#redis.on("close", () => this.#failed("disconnected", new Error("the connection to Valkey was closed")));
    this.#redis.on("connect", () => this.#heard());
    this.#redis.on("ready", () => {
      if (this.#outage !== undefined && !this.#outage.refusesProbes) this.#probe(this.#outage);
    });
  }

  /** Connects. Resolves when connected, or after the first failed try; further tries run in the background. */
  async open(): Promise<void> {
    await this.#redis.connect().catch((error: Error) => this.#failed("disconnected", error));
  }

  get isAway(): boolean {
    return this.#outage !== undefined && this.#outage.backAt === undefined;
  }

  get latencyMs(): number | null {
    return this.#latencyMs;
  }

  /** Sends a command that a request waits for. Rejects only with `LimitsUnavailable`. */
  async ask<T>(send: Question<T>): Promise<T> {
    try {
      return await this.tell(send);
    } catch (error) {
      if (this.#outage !== undefined) this.#outage.refused += 1;
      this.#options.unavailable?.(this.#outage?.cause ?? "disconnected");
      throw error;
    }
  }

  /** Sends a command that no request waits for. Its failure is not added to the outage's number of refused commands. */
  tell<T>(send: Question<T>): Promise<T> {
    if (this.isAway) return unasked(`the limits server is unreachable (${this.#outage?.cause})`);
    return this.#question(send);
  }

  async close(): Promise<void> {
    // Answers to earlier commands arrive before the answer to this one.
    const goodbye = this.tell((redis) => redis.quit());
    this.#closing = true;
    this.#outage?.stopTimer();
    await goodbye.catch((error: LimitsUnavailable) =>
      this.#options.log.warn({ reason: reasonOf(error.cause) }, "could not close the connection to the limits server"),
    );
    this.#redis.disconnect();
  }

  #question<T>(send: Question<T>): Promise<T> {
    const { clock, answerTimeoutMs } = this.#options;
    const refused = this.#whyUnasked();
    if (refused !== undefined) {
      this.#failed(refused.cause, new Error(refused.why));
      return unasked(refused.why);
    }
    this.#unanswered += 1;
    return new Promise((resolve, reject) => {
      const fail = (cause: UnavailableCause, error: Error): void => {
        this.#failed(cause, error);
        reject(new LimitsUnavailable(error, { maybeDone: true }));
      };
      const answer = send(this.#redis);
      const writtenAt = clock.monotonic();
      const stopTimer = startReplyTimeout({
        clock,
        timeoutMs: answerTimeoutMs,
        isUnsent: () => (this.#redis.stream?.writableLength ?? 0) > 0,
        passed: () => fail("timeout", new Error(`no response within ${answerTimeoutMs} ms`)),
      });
      const heard = (): void => {
        this.#unanswered -= 1;
        stopTimer();
      };
      // After the timeout the answer is ignored, because the caller already got an error.
      answer.then(
        (value) => {
          heard();
          this.#heard();
          this.#latencyMs = clock.monotonic() - writtenAt;
          resolve(value);
        },
        (error: Error) => {
          heard();
          const answered = error.name === "ReplyError";
          if (answered) this.#heard();
          fail(answered ? "error" : "disconnected", error);
        },
      );
    });
  }

  #whyUnasked(): { cause: UnavailableCause; why: string } | undefined {
    const { status } = this.#redis;
    if (status !== "ready") return { cause: "disconnected", why: `not connected (${status})` };
    if (this.#unanswered < UNANSWERED_MAX) return undefined;
    return { cause: "timeout", why: `${this.#unanswered} requests are unanswered` };
  }

  #heard(): void {
    this.#heardAt = this.#options.clock.monotonic();
  }

  #failed(cause: UnavailableCause, error: Error): void {
    if (this.#closing || this.isAway) return;
    const { clock, log } = this.#options;
    if (this.#outage === undefined) {
      const fresh = { refused: 0, backAt: undefined, probing: false, probeMs: PROBE_MS_MIN, refusesProbes: false };
      this.#outage = { ...fresh, since: clock.monotonic(), cause, stopTimer: () => {} };
      log.error({ cause, reason: reasonOf(error) }, "limits server is unreachable; probing it until it responds");
    }
    this.#outage.backAt = undefined;
    this.#probeLater(this.#outage);
  }

  #probeLater(outage: Outage): void {
    outage.stopTimer();
    outage.stopTimer = this.#options.clock.after(outage.probeMs, () => this.#probe(outage));
    outage.probeMs = Math.min(PROBE_MS_MAX, outage.probeMs * 2);
  }

  #probe(outage: Outage): void {
    if (outage.probing || this.#closing || !this.isAway) return;
    outage.stopTimer();
    outage.probing = true;
    this.#question(this.#options.probe).then(
      () => {
        outage.probing = false;
        this.#isBack(outage);
      },
      (error: LimitsUnavailable) => {
        outage.probing = false;
        if (this.#closing) return;
        outage.refusesProbes = error.cause instanceof Error && error.cause.name === "ReplyError";
        this.#giveUpSilentConnection();
        this.#probeLater(outage);
      },
    );
  }

  /**
   * Closes the connection if it received no answer for `SILENT_MS_MAX`. The client library's own timeout is off,
   * because its timer fires wrongly when this process is delayed.
   */
  #giveUpSilentConnection(): void {
    if (this.#options.clock.monotonic() - this.#heardAt < SILENT_MS_MAX) return;
    if (this.#redis.status === "ready" || this.#redis.status === "connect") this.#redis.stream.destroy();
  }

  #isBack(outage: Outage): void {
    if (this.#closing) return;
    const { clock, log, back } = this.#options;
    const backAt = clock.monotonic();
    outage.backAt = backAt;
    outage.refusesProbes = false;
    outage.stopTimer = clock.after(QUIET_MS, () => {
      const outageMs = Math.round(backAt - outage.since);
      log.info({ cause: outage.cause, outageMs, refused: outage.refused }, "limits server is reachable again");
      this.#outage = undefined;
    });
    back?.();
  }
}

function unasked(why: string): Promise<never> {
  return Promise.reject(new LimitsUnavailable(new Error(why), { maybeDone: false }));
}

/** The error's message only, because the client's errors contain whole commands. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message || ("code" in error ? String(error.code) : error.name);
}
