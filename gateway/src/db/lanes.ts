/**
 * Runs operations that could not share a batch separately, one lane per account and a few lanes at a time, so that they do not delay
 * others. A lane ends with the first success; a failing one stays, so that the account's next operation does not delay a batch again.
 */

/**
 * `done`: it has a result. `failed`: it failed alone. `blocked`: its lock also blocks those behind it. `open`: the caller must handle
 * it.
 */
export type LaneOutcome = "done" | "failed" | "blocked" | "open";

interface LaneOptions<Item> {
  /** Runs one item on its own. */
  serve: (item: Item) => Promise<LaneOutcome>;
  /** Called when the lane has ended: these items rejoin the batches. */
  giveBack: (items: Item[]) => void;
  /** For items behind a blocked one. */
  refuse: (items: Item[], after: Item) => void;
}

interface Lane<Item> {
  items: Item[];
  isRunning: boolean;
}

/** Each lane may use a connection. */
export const LANES_AT_ONCE = 2;
/** The maximum number of empty lanes that are remembered. */
const KEPT_MAX = 1_000;

export class Lanes<Item> {
  readonly #options: LaneOptions<Item>;
  readonly #lanes = new Map<string, Lane<Item>>();
  #running = 0;
  readonly #due: string[] = [];

  constructor(options: LaneOptions<Item>) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#lanes.size === 0;
  }

  /** The first of these keys with a lane. */
  keyOf(keys: string[]): string | undefined {
    return keys.find((key) => this.#lanes.has(key));
  }

  put(key: string, item: Item): void {
    const lane = this.#lanes.get(key) ?? { items: [], isRunning: false };
    lane.items.push(item);
    this.#lanes.set(key, lane);
    if (lane.isRunning) return;
    lane.isRunning = true;
    this.#due.push(key);
    this.#runNext();
  }

  #runNext(): void {
    while (this.#running < LANES_AT_ONCE) {
      const key = this.#due.shift();
      if (key === undefined) return;
      this.#running += 1;
      void this.#run(key).then(() => {
        this.#running -= 1;
        this.#runNext();
      });
    }
  }

  async #run(key: string): Promise<void> {
    const lane = this.#lanes.get(key) as Lane<Item>;
    for (let item = lane.items.shift(); item !== undefined; item = lane.items.shift()) {
      const outcome = await this.#options.serve(item);
      if (outcome === "blocked") this.#options.refuse(lane.items.splice(0), item);
      if (outcome === "failed" || outcome === "blocked") continue;
      this.#lanes.delete(key);
      return this.#options.giveBack(lane.items);
    }
    lane.isRunning = false;
    if (this.#lanes.size > KEPT_MAX) this.#forget();
  }

  #forget(): void {
    for (const [key, { isRunning }] of this.#lanes) {
      if (isRunning) continue;
      this.#lanes.delete(key);
      return;
    }
  }
}
