/**
 * Decides which waiting request of a model is served next: from the account with the fewest requests in service, among equals the one not
 * served for longest, and of its requests the oldest. An account never has more slots than another that waits, and an account alone may use
 * all. An account at its equal share leaves free slots for accounts that asked recently, as many as they used at once, so that these need
 * not wait for a request to end.
 */

/** An account that asked within this time is expected to ask again. */
const LATELY_MS = 10_000;

interface Served {
  has: number;
  othersHave: number;
  accounts: number;
}

/** Tracks how many of a model's slots accounts use, to limit an account above its equal share. */
export class RecentDemand {
  #last = { account: "", at: Number.NEGATIVE_INFINITY };
  /** The latest request from another account than the previous one. */
  #other = this.#last;
  #peak = { slots: 0, at: Number.NEGATIVE_INFINITY };
  readonly #waiting = new Map<string, number>();
  #allWaiting = 0;

  asked(account: string, at: number): void {
    if (account !== this.#last.account) this.#other = this.#last;
    this.#last = { account, at };
  }

  /** A request of the account starts (1) or stops (-1) waiting for a slot. */
  waits(account: string, change: 1 | -1): void {
    this.#allWaiting += change;
    const waiting = (this.#waiting.get(account) ?? 0) + change;
    if (waiting > 0) this.#waiting.set(account, waiting);
    else this.#waiting.delete(account);
  }

  /**
   * Whether the account leaves the free slots to others. `accounts` is the number of accounts, `has` and `othersHave` are what it and the
   * others have in service.
   */
  leaves(account: string, { has, othersHave, accounts }: Served, slots: number, now: number): boolean {
    if (has < slots / Math.max(2, accounts)) return false;
    const others = othersHave + this.#allWaiting - (this.#waiting.get(account) ?? 0);
    const { at } = this.#last.account === account ? this.#other : this.#last;
    if (now - at >= LATELY_MS) return false;
    // Declines to zero unless as many slots are used again.
    const left = this.#peak.slots * Math.max(0, 1 - (now - this.#peak.at) / LATELY_MS);
    if (others >= left) this.#peak = { slots: others, at: now };
    return has >= slots - Math.ceil(Math.max(others, left)) - 1;
  }
}

/** With more accounts than this at once, all start over as equals. */
const REMEMBERED_MAX = 10_000;

/** What each account has in service, and when it was last served. */
export class InService {
  readonly #counts = new Map<string, number>();
  readonly #turns = new Map<string, number>();
  #turn = 0;
  /** The sum over all accounts. */
  total = 0;

  of(account: string): number {
    return this.#counts.get(account) ?? 0;
  }

  /** Whether `account` is served before the other. */
  isBefore(account: string, other: string): boolean {
    const more = this.of(account) - this.of(other);
    return more < 0 || (more === 0 && (this.#turns.get(account) ?? 0) < (this.#turns.get(other) ?? 0));
  }

  began(account: string): void {
    this.#counts.set(account, this.of(account) + 1);
    this.total += 1;
    if (this.#turns.size >= REMEMBERED_MAX) this.#turns.clear();
    this.#turns.set(account, ++this.#turn);
  }

  ended(account: string): void {
    const left = this.of(account) - 1;
    if (left >= 0) this.total -= 1;
    if (left > 0) this.#counts.set(account, left);
    else this.#counts.delete(account);
  }

  get accounts(): number {
    return this.#counts.size;
  }

  get isEmpty(): boolean {
    return this.#counts.size === 0;
  }
}

/**
 * Serves as many requests as possible. `line`: the waiting requests, oldest first. `serve` returns whether it served one. If not, the next
 * request of the same account is tried, and then the next account.
 */
export function serveFairly<T extends { account: string }>(
  line: Iterable<T>,
  inService: Pick<InService, "isBefore">,
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
