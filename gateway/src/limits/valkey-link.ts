/**
 * The connection to the server: one question, one answer, in bounded time. Nothing is queued while the server is away;
 * a question is refused at once then, and the connection comes back by itself. An outage is logged when it begins and
 * when it is over, however many questions it costs.
 */
import { Redis } from "ioredis";
import type { Clock } from "../base/clock.ts";
import type { Dependency } from "../base/dependency.ts";
import type { Log } from "../base/log.ts";
import { LimitsUnavailable } from "./limits.ts";
import { type ScriptedRedis, scripts } from "./valkey-scripts.ts";

/** More unanswered questions than this are not asked: a server that far behind would answer none of them in time. */
const UNANSWERED_MAX = 10_000;
const RECONNECT_MS_MAX = 1_000;
const CONNECT_TIMEOUT_MS = 2_000;
/** An outage is over when the server answers and no question has failed for this long; a flapping one is one outage. */
const QUIET_MS = 1_000;

interface LinkOptions {
  url: string;
  clock: Clock;
  log: Log;
  answerTimeoutMs: number;
}

export class ValkeyLink implements Dependency {
  readonly name = "limits";
  readonly latencyMs = null;
  readonly #redis: ScriptedRedis;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #answerTimeoutMs: number;
  #unanswered = 0;
  #outage: { since: number; lastFailure: number; stopProbing: () => void } | undefined;
  #closing = false;

  constructor({ url, clock, log, answerTimeoutMs }: LinkOptions) {
    this.#clock = clock;
    this.#log = log;
    this.#answerTimeoutMs = answerTimeoutMs;
    this.#redis = new Redis(url.replace(/^valkey(s?):/, "redis$1:"), {
      lazyConnect: true,
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      connectTimeout: CONNECT_TIMEOUT_MS,
      // A connection that goes quiet while answers are due is given up, and everything asked on it with it.
      socketTimeout: CONNECT_TIMEOUT_MS,
      retryStrategy: (attempt) => Math.min(RECONNECT_MS_MAX, 25 * 2 ** Math.min(attempt, 10)),
      // The server we are connected to became a replica: the name may lead to the new primary.
      reconnectOnError: (error) => error.message.startsWith("READONLY"),
      scripts,
    }) as ScriptedRedis;
    this.#redis.on("error", (error: Error) => this.#failed(error));
    this.#redis.on("close", () => this.#failed(new Error("the connection was closed")));
  }

  /** Resolves when connected, or when the first attempt failed; it goes on trying then. */
  async open(): Promise<void> {
    await this.#redis.connect().catch((error: Error) => this.#failed(error));
  }

  get isAway(): boolean {
    return this.#outage !== undefined;
  }

  /** Rejects with `LimitsUnavailable`, and with nothing else. */
  ask<T>(send: (redis: ScriptedRedis) => Promise<T>): Promise<T> {
    const { status } = this.#redis;
    if (status !== "ready") return this.#unasked(`not connected (${status})`);
    if (this.#unanswered >= UNANSWERED_MAX) return this.#unasked(`${this.#unanswered} questions are unanswered`);
    this.#unanswered += 1;
    return new Promise((resolve, reject) => {
      const fail = (cause: Error): void => {
        this.#failed(cause);
        reject(new LimitsUnavailable(cause, { maybeDone: true }));
      };
      let late = false;
      const stopTimer = this.#clock.after(this.#answerTimeoutMs, () => {
        late = true;
        fail(new Error(`no answer within ${this.#answerTimeoutMs} ms`));
      });
      const settle = (outcome: () => void): void => {
        this.#unanswered -= 1;
        stopTimer();
        // Who asked was told already that there is no answer.
        if (!late) outcome();
      };
      send(this.#redis).then(
        (answer) =>
          settle(() => {
            this.#answered();
            resolve(answer);
          }),
        (error: Error) => settle(() => fail(error)),
      );
    });
  }

  async close(): Promise<void> {
    this.#closing = true;
    this.#outage?.stopProbing();
    // Answers that are due still come before this one.
    await this.ask((redis) => redis.quit()).catch((error: LimitsUnavailable) =>
      this.#log.warn({ reason: reasonOf(error.cause) }, "left the limits server without a goodbye"),
    );
    this.#redis.disconnect();
  }

  #unasked(why: string): Promise<never> {
    const cause = new Error(why);
    this.#failed(cause);
    return Promise.reject(new LimitsUnavailable(cause, { maybeDone: false }));
  }

  #failed(error: Error): void {
    if (this.#closing) return;
    const now = this.#clock.monotonic();
    if (this.#outage !== undefined) {
      this.#outage.lastFailure = now;
      return;
    }
    // A probe tells that the server is back even when nobody else asks; its failures are counted like any other.
    const probe = (): void => void this.ask((redis) => redis.ping()).catch(() => undefined);
    this.#outage = { since: now, lastFailure: now, stopProbing: this.#clock.every(QUIET_MS, probe) };
    const reason = reasonOf(error);
    this.#log.error({ reason }, "the limits server does not answer; requests are refused until it does");
  }

  #answered(): void {
    const now = this.#clock.monotonic();
    if (this.#outage === undefined || now - this.#outage.lastFailure < QUIET_MS) return;
    this.#outage.stopProbing();
    this.#log.info({ outageMs: Math.round(now - this.#outage.since) }, "the limits server answers again");
    this.#outage = undefined;
  }
}

/** Only the words: the client's errors carry whole commands. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message || ("code" in error ? String(error.code) : error.name);
}
