/**
 * Runs operations separately that would delay a batch of others, for example because their account is locked. Each
 * account has its own lane (a queue), and a few lanes run at a time. When an operation succeeds, the lane ends and the
 * account's operations join the batches again. Until then, the lane also gets the account's new operations, which would
 * otherwise delay a batch.
 */

/**
 * The outcome of an operation in its account's queue (lane). `done`: it has a result. `failed`: only this operation
 * failed. `blocked`: a lock stops it, and with it the operations behind it in the lane. `open`: unknown yet, so the
 * operation is sent again with the next batch of all accounts.
 */
export type QueuedOperationOutcome = "done" | "failed" | "blocked" | "open";

interface AccountQueueOptions<Item> {
  /** Runs one item on its own. */
  serve: (item: Item) => Promise<QueuedOperationOutcome>;
  /** Called when the lane has ended, with its remaining items, which return to the batches. */
  giveBack: (items: Item[]) => void;
  /** Called when an item is blocked, with the items behind it in the lane, which must fail too. */
  refuse: (items: Item[], after: Item) => void;
}

interface AccountQueue<Item> {
  items: Item[];
  isRunning: boolean;
}

/** How many lanes (the queues of single accounts) run at the same time. Each may use a database connection. */
export const ACCOUNT_QUEUES_AT_ONCE = 2;
/** How many empty lanes of failed accounts are kept. */
const KEPT_MAX = 1_000;

export class AccountQueues<Item> {
  readonly #options: AccountQueueOptions<Item>;
  readonly #lanes = new Map<string, AccountQueue<Item>>();
  #running = 0;
  readonly #due: string[] = [];

  constructor(options: AccountQueueOptions<Item>) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#lanes.size === 0;
  }

  /** Returns the first of these keys that has a lane. */
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
    while (this.#running < ACCOUNT_QUEUES_AT_ONCE) {
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
    const lane = this.#lanes.get(key) as AccountQueue<Item>;
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
