/**
 * A circuit breaker, which detects whether a dependency is reachable without a probe per request. It probes at
 * intervals, less often while the dependency is unused, and immediately when a caller reports trouble. During an outage
 * all callers are refused at once, and only probes are sent, one at a time. The first that succeeds closes the breaker.
 * An outage causes two log lines, however many callers were refused.
 */
import type { Clock } from "./clock.ts";
import { type Dependency, UnreachableError } from "./dependency.ts";
import type { Log } from "./log.ts";

/** The probe interval while the dependency is healthy and used. */
const BEAT_EVERY_MS = 500;
/** The probe interval while the dependency is unused. A new use is noticed within `BEAT_EVERY_MS`. */
const REST_EVERY_MS = 2_000;
/** A query of the status counts as use for this long, because another query usually follows. */
const WANTED_MS = 2_000;
/** The time limit of a probe. With the interval before it, an outage is detected after 2.5 s. */
const ANSWER_MS_MAX = 2_000;
const SILENT = `no response within ${ANSWER_MS_MAX / 1000} s`;
/** The shortest interval of probes during an outage. It doubles up to `RETRY_MS_MAX`. */
const RETRY_MS_MIN = 250;
const RETRY_MS_MAX = 1_000;

interface BreakerOptions {
  name: Dependency["name"];
  /** Probes the dependency. Rejects if no answer comes. The signal cancels the probe. */
  probe: (signal: AbortSignal) => Promise<void>;
  /** Whether a caller waits for the dependency at present. New callers call `used` as well. */
  isUsed?: () => boolean;
  clock: Clock;
  log: Log;
  /** Called at the start of an outage. Has to fail everything that waits for the dependency. */
  onAway?: (reason: string) => void;
}

interface Outage {
  reason: string;
  since: number;
  /** The breaker's count of refused callers when the outage began. */
  refused: number;
}

export class CircuitBreaker implements Dependency {
  readonly name: Dependency["name"];
  latencyMs: number | null = null;
  /** The number of refused callers since the gateway's start. */
  refused = 0;
  readonly #options: BreakerOptions;
  #outage: Outage | undefined;
  #probing: Promise<void> | undefined;
  #retryMs = RETRY_MS_MIN;
  #watching = false;
  #everyMs = BEAT_EVERY_MS;
  #askedAt = Number.NEGATIVE_INFINITY;
  #wantedAt = Number.NEGATIVE_INFINITY;
  #stopBeats = (): void => {};
  #cancelNext = (): void => {};
  #giveUp = (): void => {};

  constructor(options: BreakerOptions) {
    this.name = options.name;
    this.#options = options;
  }

  get isAway(): boolean {
    return this.#outage !== undefined;
  }

  get reason(): string | undefined {
    return this.#outage?.reason;
  }

  /** Starts probing. Until then the dependency counts as reachable. */
  watch(): void {
    this.#watching = true;
    this.#beatEvery(BEAT_EVERY_MS);
  }

  stop(): void {
    this.#watching = false;
    this.#stopBeats();
    this.#cancelNext();
    this.#giveUp();
  }

  /** A caller starts to wait. Within `BEAT_EVERY_MS`, a probe is sent if a caller still waits then. */
  used(): void {
    if (this.#watching && this.#everyMs !== BEAT_EVERY_MS) this.#beatEvery(BEAT_EVERY_MS);
  }

  /** A caller queried the status: probes more often for a while. */
  wanted(): void {
    this.#wantedAt = this.#options.clock.monotonic();
    this.used();
  }

  /** Returns the error that callers get during an outage. */
  refusal(): UnreachableError {
    this.refused += 1;
    return new UnreachableError(this.name, this.#outage?.reason ?? "connection lost");
  }

  /** A caller reports trouble: probes now. Returns whether the dependency is unreachable. */
  async suspect(): Promise<boolean> {
    // During an outage probes are sent at an interval of their own.
    if (this.#watching && this.#outage === undefined) await this.#probe();
    return this.isAway;
  }

  #beatEvery(ms: number): void {
    this.#stopBeats();
    this.#everyMs = ms;
    this.#stopBeats = this.#options.clock.every(ms, () => this.#beat());
  }

  #beat(): void {
    // During an outage probes are sent at an interval of their own.
    if (this.isAway) return;
    const { isUsed, clock } = this.#options;
    const now = clock.monotonic();
    if (isUsed === undefined || isUsed() || now - this.#wantedAt < WANTED_MS) this.used();
    else if (this.#everyMs === BEAT_EVERY_MS) {
      this.#beatEvery(REST_EVERY_MS);
      // Without this limit many short uses would postpone probes forever.
      if (now - this.#askedAt < REST_EVERY_MS) return;
    }
    void this.#probe();
  }

  #retry(): void {
    if (!this.isAway || !this.#watching) return;
    this.#cancelNext = this.#options.clock.after(this.#retryMs, () => void this.#probe());
    this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MS_MAX);
  }

  #probe(): Promise<void> {
    this.#cancelNext();
    this.#probing ??= this.#ask().finally(() => {
      this.#probing = undefined;
      this.#retry();
    });
    return this.#probing;
  }

  async #ask(): Promise<void> {
    const { probe, clock } = this.#options;
    const givenUp = new AbortController();
    const began = clock.monotonic();
    this.#askedAt = began;
    let stopWaiting = (): void => {};
    const silence = new Promise<never>((_, reject) => {
      stopWaiting = afterRunning(clock, this.#everyMs, () => reject(new Error(SILENT)));
      this.#giveUp = () => reject(new Error("health check cancelled"));
    });
    try {
      await Promise.race([probe(givenUp.signal), silence]);
      this.latencyMs = clock.monotonic() - began;
      this.#isThere();
    } catch (error) {
      givenUp.abort();
      if (this.#watching) this.#isNotThere(reasonOf(error));
    } finally {
      stopWaiting();
    }
  }

  #isThere(): void {
    const outage = this.#outage;
    if (outage === undefined) return;
    this.#outage = undefined;
    this.#retryMs = RETRY_MS_MIN;
    const { clock, log, name } = this.#options;
    const awayMs = Math.round(clock.monotonic() - outage.since);
    log.info({ awayMs, refused: this.refused - outage.refused }, `${name} is reachable again`);
  }

  #isNotThere(reason: string): void {
    if (this.#outage !== undefined) return;
    const { clock, log, name, onAway } = this.#options;
    this.#outage = { reason, since: clock.monotonic(), refused: this.refused };
    log.error({ reason }, `${name} is unreachable; requests that need it are refused until it is back`);
    onAway?.(reason);
  }
}

/**
 * Calls `run` after ANSWER_MS_MAX without an answer. Counts only time in which this process ran, and reads the sockets
 * first, so that a paused or late process does not blame the dependency. Waits in parts of one probe interval, because
 * Node.js wakes up even for cancelled timers. A part that took too long counts as one interval.
 */
function afterRunning(clock: Clock, partMs: number, run: () => void): () => void {
  let leftMs = ANSWER_MS_MAX;
  let cancelled = false;
  let cancel = (): void => {};
  const wait = (ms: number): void => {
    const began = clock.monotonic();
    cancel = clock.after(ms, () => {
      const isLate = clock.monotonic() - began > ms + BEAT_EVERY_MS;
      leftMs -= isLate ? BEAT_EVERY_MS : ms;
      if (leftMs > 0) wait(Math.min(leftMs, BEAT_EVERY_MS));
      else clock.soon(() => cancelled || run());
    });
  };
  wait(partMs);
  return () => {
    cancelled = true;
    cancel();
  };
}

/** The reason as text. If several addresses failed, the error's message is empty, so its code is used. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message || String("code" in error ? error.code : error.name);
}
