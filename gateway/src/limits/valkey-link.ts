/**
 * The connection to the server: one question, one answer, in bounded time. A server that left a question unanswered, answered
 * with an error or cannot be reached is unreachable: every further question is refused at once, and one probe at a time asks
 * whether it is back. An outage is logged when it begins and when it is over, however many questions it costs.
 */
import { Redis, type RedisOptions } from "ioredis";
import type { Clock } from "../base/clock.ts";
import type { Dependency } from "../base/dependency.ts";
import type { Log } from "../base/log.ts";
import { answerTime } from "./answer-time.ts";
import { LimitsUnavailable, type UnavailableCause } from "./limits.ts";
import { type ScriptedRedis, scripts } from "./valkey-scripts.ts";

/** More unanswered questions than this are not asked: a server that far behind would answer none of them in time. */
const UNANSWERED_MAX = 10_000;
const RECONNECT_MS_MAX = 1_000;
const CONNECT_TIMEOUT_MS = 2_000;
/** A connection on which a server that is unreachable said nothing for this long is given up, and everything asked on it. */
const SILENT_MS_MAX = 2_000;
const PROBE_MS_MIN = 250;
const PROBE_MS_MAX = 1_000;
/** The end of an outage is logged after this time without a failure, so that repeated short outages are one. */
const QUIET_MS = 1_000;

type Question<T = unknown> = (redis: ScriptedRedis) => Promise<T>;

type ClientOptions = Omit<RedisOptions, "replyMapping">;
/** Makes the client that keeps the connection. */
export type Connect = (url: string, options: ClientOptions) => ScriptedRedis;

interface LinkOptions {
  url: string;
  connect?: Connect | undefined;
  clock: Clock;
  log: Log;
  answerTimeoutMs: number;
  /** Fails while the server cannot do its work, and does no harm. */
  probe: Question;
  /** For each question of a request that no one could answer. */
  unavailable?: ((cause: UnavailableCause) => void) | undefined;
  /** The server was unreachable and answers again; what it remembers is not known. */
  back?: () => void;
}

interface Outage {
  readonly since: number;
  /** What it began with. */
  readonly cause: UnavailableCause;
  /** Questions of requests that it cost. */
  refused: number;
  /** When a probe was answered; undefined while the server is unreachable. */
  backAt: number | undefined;
  probing: boolean;
  probeMs: number;
  /** The last probe was answered, with an error: a new connection tells nothing. */
  refusesProbes: boolean;
  stopTimer: () => void;
}

export class ValkeyLink implements Dependency {
  readonly name = "limits";
  readonly #options: LinkOptions;
  readonly #redis: ScriptedRedis;
  #unanswered = 0;
  #latencyMs: number | null = null;
  /** When the server was last heard on this connection, or the connection made. */
  #heardAt: number;
  #outage: Outage | undefined;
  #closing = false;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#heardAt = options.clock.monotonic();
    const { connect = (url: string, how: ClientOptions) => new Redis(url, how) as ScriptedRedis } = options;
    this.#redis = connect(options.url.replace(/^valkey(s?):/, "redis$1:"), {
      lazyConnect: true,
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      connectTimeout: CONNECT_TIMEOUT_MS,
      retryStrategy: (attempt) => Math.min(RECONNECT_MS_MAX, 25 * 2 ** Math.min(attempt, 10)),
      // The server we are connected to became a replica: the name may lead to the new primary.
      reconnectOnError: (error) => error.message.startsWith("READONLY"),
      scripts,
    });
    this.#redis.on("error", (error: Error) => this.#failed("disconnected", error));
    this.#redis.on("close", () => this.#failed("disconnected", new Error("the connection was closed")));
    this.#redis.on("connect", () => this.#heard());
    this.#redis.on("ready", () => {
      if (this.#outage !== undefined && !this.#outage.refusesProbes) this.#probe(this.#outage);
    });
  }

  /** Resolves when connected, or when the first attempt failed; it goes on trying then. */
  async open(): Promise<void> {
    await this.#redis.connect().catch((error: Error) => this.#failed("disconnected", error));
  }

  get isAway(): boolean {
    return this.#outage !== undefined && this.#outage.backAt === undefined;
  }

  get latencyMs(): number | null {
    return this.#latencyMs;
  }

  /** Asks for a request. Rejects with `LimitsUnavailable`, and with nothing else. */
  async ask<T>(send: Question<T>): Promise<T> {
    try {
      return await this.tell(send);
    } catch (error) {
      if (this.#outage !== undefined) this.#outage.refused += 1;
      this.#options.unavailable?.(this.#outage?.cause ?? "disconnected");
      throw error;
    }
  }

  /** The same for what no request waits for: it is not among what an outage cost. */
  tell<T>(send: Question<T>): Promise<T> {
    if (this.isAway) return unasked(`the server is unreachable (${this.#outage?.cause})`);
    return this.#question(send);
  }

  async close(): Promise<void> {
    // Answers that are due still come before this one.
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
      const stopTimer = answerTime({
        clock,
        timeoutMs: answerTimeoutMs,
        isUnsent: () => (this.#redis.stream?.writableLength ?? 0) > 0,
        passed: () => fail("timeout", new Error(`no response within ${answerTimeoutMs} ms`)),
      });
      const heard = (): void => {
        this.#unanswered -= 1;
        stopTimer();
      };
      // After the timeout neither has an effect: the caller already got the error.
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

  /** The client itself would wait for ever. What it does by a timer of its own misfires when this process is late. */
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

/** Only the words: the client's errors carry whole commands. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message || ("code" in error ? String(error.code) : error.name);
}
