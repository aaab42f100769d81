/**
 * Decides which waiting request of a model is served next. First is the account with the fewest requests in service; if
 * equal, the account not served for longest. Of an account's requests, the oldest is served first. An account never
 * gets more slots than another that waits, and a single account may use all. An account that has its equal share leaves
 * slots free for accounts that recently sent requests, as many as these used at once, so that they need not wait for a
 * request to end.
 */

/** An account that sent a request within this time is expected to send another. */
const LATELY_MS = 10_000;

interface Served {
  has: number;
  othersHave: number;
  accounts: number;
}

/**
 * Tracks the recent demand for a model's slots. An account that already uses its equal share must leave slots to other
 * accounts with recent requests.
 */
export class RecentDemand {
  #last = { account: "", at: Number.NEGATIVE_INFINITY };
  /** The latest request from a different account than `#last`. */
  #other = this.#last;
  #peak = { slots: 0, at: Number.NEGATIVE_INFINITY };
  readonly #waiting = new Map<string, number>();
  #allWaiting = 0;

  asked(account: string, at: number): void {
    if (account !== this.#last.account) this.#other = this.#last;
    this.#last = { account, at };
  }

  /** Counts requests of the account that start (above 0) or stop (below 0) waiting for a slot. */
  waits(account: string, change: number): void {
    this.#allWaiting += change;
    const waiting = (this.#waiting.get(account) ?? 0) + change;
    if (waiting > 0) this.#waiting.set(account, waiting);
    else this.#waiting.delete(account);
  }

  /**
   * Whether the account must leave the free slots to others. `accounts` is the number of accounts in service. `has` and
   * `othersHave` are the requests in service of this account and of all others.
   */
  leaves(account: string, { has, othersHave, accounts }: Served, slots: number, now: number): boolean {
    if (has < slots / Math.max(2, accounts)) return false;
    const others = othersHave + this.#allWaiting - (this.#waiting.get(account) ?? 0);
    const { at } = this.#last.account === account ? this.#other : this.#last;
    if (now - at >= LATELY_MS) return false;
    // The slots kept free for others. The number falls to zero within ten seconds, unless others use as many again.
    const left = this.#peak.slots * Math.max(0, 1 - (now - this.#peak.at) / LATELY_MS);
    if (others >= left) this.#peak = { slots: others, at: now };
    return has >= slots - Math.ceil(Math.max(others, left)) - 1;
  }
}

/** With more accounts than this, the order in which they were last served is forgotten. */
const REMEMBERED_MAX = 10_000;

/** The number of each account's requests in service, and the order in which accounts were last served. */
export class RequestsInService {
  readonly #counts = new Map<string, number>();
  readonly #turns = new Map<string, number>();
  #turn = 0;
  /** The number of requests in service of all accounts. */
  total = 0;

  of(account: string): number {
    return this.#counts.get(account) ?? 0;
  }

  /** Whether a request of `account` is served before one of `other`. */
  isBefore(account: string, other: string): boolean {
    const more = this.of(account) - this.of(other);
    return more < 0 || (more === 0 && (this.#turns.get(account) ?? 0) < (this.#turns.get(other) ?? 0));
  }

  /** Counts requests of the account whose service begins (above 0) or ends (below 0). */
  add(account: string, change: number): void {
    const count = Math.max(0, this.of(account) + change);
    this.total += count - this.of(account);
    if (count > 0) this.#counts.set(account, count);
    else this.#counts.delete(account);
    if (change <= 0) return;
    if (this.#turns.size >= REMEMBERED_MAX) this.#turns.clear();
    this.#turns.set(account, ++this.#turn);
  }

  get accounts(): number {
    return this.#counts.size;
  }

  get isEmpty(): boolean {
    return this.#counts.size === 0;
  }
}

/**
 * Serves as many waiting requests as possible. `line` is sorted by age, oldest request first. `serve` returns false if
 * it could not serve the request. Then the next request of the same account is tried, and then the next account.
 */
export function serveFairly<T extends { account: string }>(
  line: Iterable<T>,
  inService: Pick<RequestsInService, "isBefore">,
  serve: (waiting: T) => boolean,
): void {
  const turns = new Map<string, { account: string; waiting: T[]; at: number }>();
  for (const waiting of line) {
    const { account } = waiting;
    const turn = turns.get(account);
    if (turn === undefined) turns.set(account, { account, waiting: [waiting], at: 0 });
    else turn.waiting.push(waiting);
  }
  const open = [...turns.values()];
  while (open.length > 0) {
    let least = 0;
    for (let i = 1; i < open.length; i++) if (inService.isBefore(accountOf(i), accountOf(least))) least = i;
    const turn = open[least] as (typeof open)[number];
    let served = false;
    while (!served && turn.at < turn.waiting.length) served = serve(turn.waiting[turn.at++] as T);
    if (!served) open.splice(least, 1);
  }

  function accountOf(i: number): string {
    return (open[i] as (typeof open)[number]).account;
  }
}
