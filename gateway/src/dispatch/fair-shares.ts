/**
 * Who is served next of those that wait for one model: the account that is served least now, among equals the one that was not
 * served for longest, and of its requests the oldest. So no account has more slots than another that waits, and an account alone has
 * all of them. One that has its equal share leaves the others that asked lately as many free slots as they used at once, so that these
 * need not wait for an end.
 */

/** An account that asked within this time is expected to ask again. */
const LATELY_MS = 10_000;

interface Served {
  has: number;
  othersHave: number;
  accounts: number;
}

/** What accounts use of a model's slots, so far as it bounds one that has more than its equal share. */
export class Crowd {
  #last = { account: "", at: Number.NEGATIVE_INFINITY };
  /** Of another account than the last. */
  #other = this.#last;
  #peak = { slots: 0, at: Number.NEGATIVE_INFINITY };
  readonly #waiting = new Map<string, number>();
  #allWaiting = 0;

  asked(account: string, at: number): void {
    if (account !== this.#last.account) this.#other = this.#last;
    this.#last = { account, at };
  }

  /** A request of the account begins to wait for a slot (1), or waits no longer (-1). */
  waits(account: string, change: 1 | -1): void {
    this.#allWaiting += change;
    const waiting = (this.#waiting.get(account) ?? 0) + change;
    if (waiting > 0) this.#waiting.set(account, waiting);
    else this.#waiting.delete(account);
  }

  /** Whether the account leaves the slots that are free to others. Of `accounts` it and the others have so many in service. */
  leaves(account: string, { has, othersHave, accounts }: Served, slots: number, now: number): boolean {
    if (has < slots / Math.max(2, accounts)) return false;
    const others = othersHave + this.#allWaiting - (this.#waiting.get(account) ?? 0);
    const { at } = this.#last.account === account ? this.#other : this.#last;
    if (now - at >= LATELY_MS) return false;
    // It falls to nothing while no one uses as many again.
    const left = this.#peak.slots * Math.max(0, 1 - (now - this.#peak.at) / LATELY_MS);
    if (others >= left) this.#peak = { slots: others, at: now };
    return has >= slots - Math.ceil(Math.max(others, left)) - 1;
  }
}

/** More accounts than that in one rush start over as equals. */
const REMEMBERED_MAX = 10_000;

/** What each account has in service, and which was served last. */
export class InService {
  readonly #counts = new Map<string, number>();
  readonly #turns = new Map<string, number>();
  #turn = 0;
  /** Of all accounts. */
  total = 0;

  of(account: string): number {
    return this.#counts.get(account) ?? 0;
  }

  /** Whether `account` comes before the other. */
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
 * Serves as many as can be. `line`: who waits, oldest first. `serve` says whether it could: one that cannot be served now leaves
 * the turn to the next of its account, and an account that nothing can be done for leaves it to the others.
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
