/**
 * Decides when a node gets canaries: at random times, more often in hours with more requests, like requests
 * themselves. While gateways share their results, they share the work too.
 */
import type { Clock } from "../base/clock.ts";
import type { Random } from "../base/random.ts";
import { randomChoices } from "./questions/random-choices.ts";
import { BUSYNESS_MAX, type TrafficRates } from "./traffic-rates.ts";

/** The mean interval of canaries per node and model, from all gateways together. */
const CANARY_EVERY_MS = 30 * 60_000;
/** The most time without a canary, however quiet the hours are. */
const CANARY_EVERY_MS_MAX = 4 * CANARY_EVERY_MS;
/** The longest mean wait for a canary that confirms a failure, so that a quiet model's node is judged soon too. */
const CONFIRM_MS_MAX = 60_000;

/** The times of one node and model, in monotonic milliseconds. */
export interface CanaryTimes {
  /** A canary may be due from this time on. Whether it is depends on the traffic. */
  possibleAt: number;
  /** A canary is due from this time on. */
  dueAt: number;
  /** A canary is due to confirm a failure. */
  confirmAt: number;
}

interface CanaryTimingOptions {
  traffic: Pick<TrafficRates, "busyness" | "gapMs">;
  /** The number of gateways, and of nodes that serve the model. */
  gateways: () => number;
  nodesOf: (model: string) => number;
  clock: Clock;
  random: Random;
}

export class CanaryTiming {
  readonly #options: CanaryTimingOptions;

  constructor(options: CanaryTimingOptions) {
    this.#options = options;
  }

  /** The times of a node that has just joined: a canary is due. */
  first(): CanaryTimes {
    const now = this.#options.clock.monotonic();
    return { possibleAt: now, dueAt: now, confirmAt: Number.POSITIVE_INFINITY };
  }

  /**
   * Whether a canary is due now. Possible times are drawn four times as often as canaries are wanted, and one of them
   * counts with the probability (busyness / 4). So canaries are a Poisson process whose rate follows the traffic.
   */
  reaches(times: CanaryTimes, model: string): boolean {
    const { traffic, clock, random } = this.#options;
    const now = clock.monotonic();
    if (now >= times.dueAt || now >= times.confirmAt) return true;
    if (now < times.possibleAt) return false;
    if (random.below(ROLLS) < (ROLLS * traffic.busyness(model, now)) / BUSYNESS_MAX) times.dueAt = now;
    else times.possibleAt = now + this.#draw(this.#meanMs / BUSYNESS_MAX);
    return now >= times.dueAt;
  }

  /** The canary is sent. If it is not answered, the next one is due at `again`. */
  sent(times: CanaryTimes, again: number): void {
    [times.possibleAt, times.dueAt] = [again, again];
  }

  answered(times: CanaryTimes): void {
    const now = this.#options.clock.monotonic();
    times.possibleAt = now + this.#draw(this.#meanMs / BUSYNESS_MAX);
    times.dueAt = now + CANARY_EVERY_MS_MAX * this.#options.gateways();
  }

  /**
   * There is evidence against the node, so a canary follows: for a node on probation at once, otherwise after about the
   * time between two requests to a node, so that the node does not recognise it by its time.
   */
  confirms(times: CanaryTimes, { model, atOnce }: { model: string; atOnce: boolean }): void {
    const { traffic, gateways, nodesOf, clock } = this.#options;
    const now = clock.monotonic();
    const gapMs = ((traffic.gapMs(model, now) ?? 0) * nodesOf(model)) / gateways();
    times.confirmAt = now + (atOnce ? 0 : this.#draw(Math.min(gapMs, CONFIRM_MS_MAX)));
  }

  get #meanMs(): number {
    return CANARY_EVERY_MS * this.#options.gateways();
  }

  #draw(meanMs: number): number {
    return randomChoices(this.#options.random).wait(meanMs);
  }
}

const ROLLS = 2 ** 24;
