/**
 * Whether something we need is there, known without asking for it each time. A sign of life is asked for all the time, more
 * seldom while no one uses it, and at once when someone reports trouble. While none comes, everyone is refused at once, and only the next sign of life is
 * still asked for, one at a time; the first that comes lets everyone in again.
 *
 * An outage is two lines in the log, however many were refused.
 */
import type { Clock } from "./clock.ts";
import { Away, type Dependency } from "./dependency.ts";
import type { Log } from "./log.ts";

/** Between signs of life while all is well and someone uses it. */
const BEAT_EVERY_MS = 500;
/** … while no one does. Who begins to is among those who use it from the next beat on. */
const REST_EVERY_MS = 2_000;
/** Who asked how it is will want to know it again: for so long it is as if someone used it. */
const WANTED_MS = 2_000;
/** A sign of life that takes longer than this is none. With the pause before it an outage is known after 2.5 s. */
const ANSWER_MS_MAX = 2_000;
const SILENT = `no response within ${ANSWER_MS_MAX / 1000} s`;
/** Between attempts while it is unreachable: from the first to the last, doubling. */
const RETRY_MS_MIN = 250;
const RETRY_MS_MAX = 1_000;

interface BreakerOptions {
  name: Dependency["name"];
  /** Asks for a sign of life. Rejects where there is none; what it began is given up with the signal. */
  probe: (signal: AbortSignal) => Promise<void>;
  /** Whether someone waits for it at this moment. Who begins to wait says so with `used`. */
  isUsed?: () => boolean;
  clock: Clock;
  log: Log;
  /** Marks it as unreachable, and fails everything that waits for it. */
  onAway?: (reason: string) => void;
}

interface Outage {
  reason: string;
  since: number;
  /** Before it began. */
  refused: number;
}

export class Breaker implements Dependency {
  readonly name: Dependency["name"];
  latencyMs: number | null = null;
  /** Asks that were refused because it was unreachable, since the start. */
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

  /** Begins to ask for signs of life. Before that it is taken to be there. */
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

  /** Someone begins to wait for it: no later than a beat from now it is asked for, if they still do. */
  used(): void {
    if (this.#watching && this.#everyMs !== BEAT_EVERY_MS) this.#beatEvery(BEAT_EVERY_MS);
  }

  /** Someone is told how it is. */
  wanted(): void {
    this.#wantedAt = this.#options.clock.monotonic();
    this.used();
  }

  /** For one that asks while it is unreachable. */
  refusal(): Away {
    this.refused += 1;
    return new Away(this.name, this.#outage?.reason ?? "connection lost");
  }

  /** Someone had trouble: a sign of life is asked for now. Resolves when it came or did not; says whether it is unreachable. */
  async suspect(): Promise<boolean> {
    // While it is unreachable it is asked for anyway, at its own pace.
    if (this.#watching && this.#outage === undefined) await this.#probe();
    return this.isAway;
  }

  #beatEvery(ms: number): void {
    this.#stopBeats();
    this.#everyMs = ms;
    this.#stopBeats = this.#options.clock.every(ms, () => this.#beat());
  }

  #beat(): void {
    // While it is unreachable it is asked for at a pace of its own.
    if (this.isAway) return;
    const { isUsed, clock } = this.#options;
    const now = clock.monotonic();
    if (isUsed === undefined || isUsed() || now - this.#wantedAt < WANTED_MS) this.used();
    else if (this.#everyMs === BEAT_EVERY_MS) {
      this.#beatEvery(REST_EVERY_MS);
      // Short uses, one after the other, must not put it off for ever.
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
 * Runs what is to be done after ANSWER_MS_MAX without an answer. Counts only time in which this process ran, and looks at what
 * lies in the sockets last: one that was stopped, or late, must not blame another for the silence. It waits in parts, each as
 * long as the pause between signs of life: Node wakes for a timer that was given up, too. Of a part that took longer than
 * it should, no more is sure than a beat.
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

/** In words. Where several addresses were tried the code says more than the empty message. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message || String("code" in error ? error.code : error.name);
}
