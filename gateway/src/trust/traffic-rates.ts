/**
 * How often each model is requested now, compared with the last day. Canaries follow it, so that their hours are those
 * of requests. Only answers that this gateway served are counted. Pure except for its memory.
 */

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The bounds of `busyness`, so that a node gets canaries in quiet hours too. */
export const BUSYNESS_MAX = 4;
const BUSYNESS_MIN = 1 / 4;

/** A rate that follows its events with an exponentially weighted memory. */
class DecayedRate {
  readonly #memoryMs: number;
  readonly #startedAt: number;
  #sum = 0;
  #at: number;

  constructor(memoryMs: number, now: number) {
    this.#memoryMs = memoryMs;
    [this.#startedAt, this.#at] = [now, now];
  }

  note(now: number): void {
    this.#sum = this.#decayed(now) + 1;
    this.#at = now;
  }

  /** Events per millisecond, corrected for the time before the first one. */
  at(now: number): number {
    const seen = 1 - Math.exp(-(now - this.#startedAt) / this.#memoryMs);
    return this.#decayed(now) / (this.#memoryMs * Math.max(seen, Number.EPSILON));
  }

  #decayed(now: number): number {
    return this.#sum * Math.exp(-(now - this.#at) / this.#memoryMs);
  }
}

interface Rates {
  hour: DecayedRate;
  day: DecayedRate;
  since: number;
}

export class TrafficRates {
  readonly #models = new Map<string, Rates>();

  note(model: string, now: number): void {
    const rates = this.#models.get(model) ?? {
      hour: new DecayedRate(HOUR_MS, now),
      day: new DecayedRate(DAY_MS, now),
      since: now,
    };
    this.#models.set(model, rates);
    rates.hour.note(now);
    rates.day.note(now);
  }

  /** The traffic of the last hour relative to the last day's average. 1 until an hour has passed. */
  busyness(model: string, now: number): number {
    const rates = this.#models.get(model);
    if (rates === undefined || now - rates.since < HOUR_MS) return 1;
    return Math.min(Math.max(rates.hour.at(now) / rates.day.at(now), BUSYNESS_MIN), BUSYNESS_MAX);
  }

  /** The average time between two requests of the model. Undefined: nothing was requested. */
  gapMs(model: string, now: number): number | undefined {
    const rates = this.#models.get(model);
    return rates === undefined ? undefined : 1 / rates.hour.at(now);
  }
}
