/** Holds our clock against the database's: records and leases are written by one and read by the other. */
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";

/** Beyond this it is told. */
const OFF_MS_MAX = 10_000;
/** Beyond this nothing that names a time can be trusted. */
const HOPELESS_MS = 60 * 60 * 1000;
const TELL_EVERY_MS = 60_000;

interface Compared {
  /** The database's clock. */
  theirs: number;
  /** Ours, when it was asked. */
  sentAt: number;
  roundTripMs: number;
}

export class ClockWatch {
  /** How far the database's clock is ahead of ours; null where they were never compared. */
  offsetMs: number | null = null;
  readonly #clock: Clock;
  readonly #log: Log;
  #toldAt: number | undefined;

  constructor({ clock, log }: { clock: Clock; log: Log }) {
    this.#clock = clock;
    this.#log = log;
  }

  compare({ theirs, sentAt, roundTripMs }: Compared): void {
    this.offsetMs = theirs - (sentAt + roundTripMs / 2);
    // The answer may have spent the whole round trip on one of its two ways.
    const offMs = Math.abs(this.offsetMs) - roundTripMs / 2;
    if (offMs <= OFF_MS_MAX) return;
    const now = this.#clock.monotonic();
    if (this.#toldAt !== undefined && now - this.#toldAt < TELL_EVERY_MS) return;
    this.#toldAt = now;
    const level = offMs > HOPELESS_MS ? "error" : "warn";
    const seconds = Math.round(this.offsetMs / 1000);
    this.#log[level](
      { seconds: Math.abs(seconds), ours: new Date(sentAt).toISOString(), theirs: new Date(theirs).toISOString() },
      `this machine's clock is ${seconds > 0 ? "behind" : "ahead of"} the database's; synchronise both with NTP`,
    );
  }
}
