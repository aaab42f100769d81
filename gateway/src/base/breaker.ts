/**
 * Whether something we need is there, known without asking for it each time. A sign of life is asked for all the time, and
 * at once when somebody reports trouble. While none comes, everybody is refused at once, and only the next sign of life is
 * still asked for, one at a time; the first that comes lets everybody in again.
 *
 * An outage is two lines in the log, however many were refused.
 */
import type { Clock } from "./clock.ts";
import { Away, type Dependency } from "./dependency.ts";
import type { Log } from "./log.ts";

/** Between signs of life while all is well. */
const BEAT_EVERY_MS = 500;
/** A sign of life that takes longer than this is none. With the pause before it an outage is known after 2.5 s. */
const ANSWER_MS_MAX = 2_000;
const SILENT = `no answer within ${ANSWER_MS_MAX / 1000} s`;
/** Between attempts while it is away: from the first to the last, doubling. */
const RETRY_MS_MIN = 250;
const RETRY_MS_MAX = 1_000;
/** Parts of a wait, each as long as the pause between signs of life: Node wakes for a timer that was given up, too. */
const SLICES = ANSWER_MS_MAX / BEAT_EVERY_MS;

interface BreakerOptions {
  name: Dependency["name"];
  /** Asks for a sign of life. Rejects where there is none; what it began is given up with the signal. */
  probe: (signal: AbortSignal) => Promise<void>;
  clock: Clock;
  log: Log;
  /** It is away from now on: what waits for it waits in vain. */
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
  /** Asks that were refused because it was away, since the start. */
  refused = 0;
  readonly #options: BreakerOptions;
  #outage: Outage | undefined;
  #probing: Promise<void> | undefined;
  #retryMs = RETRY_MS_MIN;
  #watching = false;
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

  /** Begins to ask for signs of life. Before that it is taken to be there. */
  watch(): void {
    this.#watching = true;
    this.#stopBeats = this.#options.clock.every(BEAT_EVERY_MS, () => {
      if (!this.isAway) void this.#probe();
    });
  }

  stop(): void {
    this.#watching = false;
    this.#stopBeats();
    this.#cancelNext();
    this.#giveUp();
  }

  /** For one that asks while it is away. */
  refusal(): Away {
    this.refused += 1;
    return new Away(this.name, this.#outage?.reason ?? "it went away");
  }

  /** Somebody had trouble: a sign of life is asked for now. Resolves when it came or did not; says whether it is away. */
  async suspect(): Promise<boolean> {
    // While it is away it is asked for anyway, at its own pace.
    if (this.#watching && this.#outage === undefined) await this.#probe();
    return this.isAway;
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
    let stopWaiting = (): void => {};
    const silence = new Promise<never>((_, reject) => {
      stopWaiting = afterRunning(clock, ANSWER_MS_MAX, () => reject(new Error(SILENT)));
      this.#giveUp = () => reject(new Error("nobody asks for it any more"));
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
    log.info({ awayMs, refused: this.refused - outage.refused }, `the ${name} is back`);
  }

  #isNotThere(reason: string): void {
    if (this.#outage !== undefined) return;
    const { clock, log, name, onAway } = this.#options;
    this.#outage = { reason, since: clock.monotonic(), refused: this.refused };
    log.error({ reason }, `the ${name} is away; what needs it is refused until it is back`);
    onAway?.(reason);
  }
}

/**
 * Counts only time in which this process ran, and looks at what lies in the sockets last: one that was stopped, or late,
 * must not blame another for the silence.
 */
function afterRunning(clock: Clock, delayMs: number, run: () => void): () => void {
  let left = SLICES;
  let cancelled = false;
  let cancel = (): void => {};
  const wait = (): void => {
    cancel = clock.after(delayMs / SLICES, () => {
      left -= 1;
      if (left > 0) wait();
      else clock.soon(() => cancelled || run());
    });
  };
  wait();
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
