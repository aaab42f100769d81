/**
 * Keeps what waits or fails away from what does not: operations of one account that could not be done together with others go one
 * after the other in a lane of their own, a few lanes at a time. A lane ends with the first operation that goes well; one that went
 * badly stays, so that the account's next operation does not hold up a batch again.
 */

/** `done`: it was answered. `failed`: it failed alone. `blocked`: what it waits for blocks those behind it, too. `open`: someone else has to see to it. */
export type LaneOutcome = "done" | "failed" | "blocked" | "open";

interface LaneOptions<Item> {
  /** Serves one item on its own. */
  serve: (item: Item) => Promise<LaneOutcome>;
  /** The lane has ended: these are to be served with all others again. */
  giveBack: (items: Item[]) => void;
  /** Of those behind one that is blocked. */
  refuse: (items: Item[], after: Item) => void;
}

interface Lane<Item> {
  items: Item[];
  isRunning: boolean;
}

/** Each may take a connection. */
export const LANES_AT_ONCE = 2;
/** Lanes that are remembered although nothing is in them. */
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

  /** The first of these keys that has a lane. */
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
