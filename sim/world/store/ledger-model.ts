/**
 * The ledger's semantics in memory, following the SQL functions (gateway/sql/functions/ledger_*.sql);
 * compare-with-postgres.test.ts compares both. Sums that the database stores (used budgets, held credit) are computed each time.
 */
import { creationTimeMsOf, type Uuid } from "../../../gateway/src/base/ids.ts";

const PLATFORM = "00000000-0000-0000-0000-000000000001" as Uuid;
const OUTSIDE = "00000000-0000-0000-0000-000000000002" as Uuid;
const RESERVE = "00000000-0000-0000-0000-000000000003" as Uuid;
const HOST_TENTHS = 7n;

interface Account {
  id: Uuid;
  kind: "builder" | "host" | "platform" | "outside" | "reserve";
  balance: bigint;
  held: bigint;
  overdrawn: boolean;
  /** Granted credit that is not spent yet, capped at the balance when it is read. */
  granted: bigint;
}

export interface HoldTerms {
  id: Uuid;
  account: Uuid;
  amount: bigint;
  key: Uuid;
  model: string;
  stream: boolean;
  promptTokens: number;
  priceVersion: number;
}

interface Hold extends HoldTerms {
  gateway: string;
  expiresMs: number;
}

export interface EndedRequest {
  id: Uuid;
  account: Uuid;
  host: Uuid | null;
  /** The host whose share is withheld, and the reason; null if no share is withheld. */
  withheld: { host: Uuid; reason: string } | null;
  node: Uuid | null;
  charge: bigint;
  outcome: string;
  status: number;
  finish: string | null;
  completionTokens: number;
  attempts: number;
}

export interface RequestRecord extends EndedRequest, HoldTerms {
  share: bigint;
  /** The part of the charge that was paid with credit granted to the host's own owner. */
  granted: bigint;
  short: bigint;
  /** How often the request was entered in the ledger: a late settlement is a second entry. */
  entries: number;
}

export interface LedgerEntry {
  operation: Uuid;
  account: Uuid;
  kind: string;
  amount: bigint;
}

interface Budget {
  dayMax: bigint | null;
  monthMax: bigint | null;
}

/** The error of a statement that the database refuses, with its SQLSTATE. */
class Refused extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

export class LedgerModel {
  readonly accounts = new Map<Uuid, Account>();
  readonly holds = new Map<Uuid, Hold>();
  readonly requests = new Map<Uuid, RequestRecord>();
  readonly entries: LedgerEntry[] = [];
  readonly transfers = new Set<Uuid>();
  readonly budgets = new Map<Uuid, Budget>();
  /** Returns whether the builder's account and the host's account have the same owner. */
  isOwn: (builder: Uuid, host: Uuid) => boolean = () => false;
  readonly #now: () => number;
  #sweptMs: number;

  constructor(now: () => number) {
    this.#now = now;
    this.#sweptMs = now();
    this.open(PLATFORM, "platform");
    this.open(OUTSIDE, "outside");
    this.open(RESERVE, "reserve");
  }

  open(id: Uuid, kind: Account["kind"]): void {
    this.accounts.set(id, { id, kind, balance: 0n, held: 0n, overdrawn: false, granted: 0n });
  }

  hold(orders: HoldTerms[], gateway: string, leaseMs: number): { codes: number[]; available: bigint[] } {
    const available: bigint[] = [];
    const codes = orders.map((order, i) => {
      const account = this.accounts.get(order.account);
      available[i] = account === undefined ? 0n : account.balance - account.held;
      const isKnown = this.holds.has(order.id) ? 2 : this.requests.has(order.id) ? 3 : undefined;
      if (isKnown !== undefined) return isKnown;
      if (account === undefined) return -2;
      if (account.balance <= 0n) return -1;
      if (order.amount > (available[i] as bigint)) return 0;
      const refused = this.#budgetRefusal(order);
      if (refused !== undefined) {
        available[i] = refused.room > 0n ? refused.room : 0n;
        return refused.code;
      }
      account.held += order.amount;
      this.holds.set(order.id, { ...order, gateway, expiresMs: this.#now() + leaseMs });
      return 1;
    });
    return { codes, available };
  }

  settle(batch: EndedRequest[]): number[] {
    for (const { account, host } of batch)
      for (const party of [account, host])
        if (party !== null && !this.accounts.has(party))
          throw new Refused("P0001", "an account of this settlement does not exist");
    // Settles a batch completely or not at all.
    for (const { id, charge } of batch) {
      const hold = this.holds.get(id);
      if (hold !== undefined && charge > hold.amount) throw new Refused("23514", "charge exceeds its hold");
    }
    const codes = new Map<EndedRequest, number>();
    const settle = (ended: EndedRequest): void => {
      const hold = this.holds.get(ended.id);
      if (hold === undefined) {
        const request = this.requests.get(ended.id);
        codes.set(ended, request === undefined ? 0 : request.outcome === "gateway_lost" ? 3 : 2);
        return;
      }
      this.#endHold(hold);
      const { share, granted } = this.#pay(ended, hold.account, ended.charge);
      this.#rearm(hold.account);
      this.requests.set(ended.id, { ...hold, ...ended, account: hold.account, share, granted, short: 0n, entries: 1 });
      codes.set(ended, 1);
    };
    // Requests whose host's share is withheld, or whose host has the payer's owner, are settled first, so that they
    // spend the granted credit.
    const isFirst = ({ account, host, withheld }: EndedRequest): boolean =>
      withheld !== null || (host !== null && this.isOwn(account, host));
    for (const ended of batch) if (isFirst(ended)) settle(ended);
    for (const ended of batch) if (!isFirst(ended)) settle(ended);
    return batch.map((ended) => codes.get(ended) as number);
  }

  settleLate(ended: EndedRequest): { code: number; charged: bigint } {
    for (const party of [ended.account, ended.host])
      if (party !== null && !this.accounts.has(party))
        throw new Refused("P0001", "an account of this settlement does not exist");
    const lost = this.requests.get(ended.id);
    if (lost === undefined || lost.account !== ended.account || lost.outcome !== "gateway_lost")
      return { code: lost === undefined ? 0 : 2, charged: 0n };
    if (ended.charge > lost.amount) throw new Refused("P0001", "charge exceeds its hold");
    const account = this.accounts.get(ended.account) as Account;
    const rooms = [account.balance - account.held, ...this.#budgetRooms(lost).map(({ room }) => room)];
    const free = rooms.reduce((least, room) => (room < least ? room : least));
    const charged = free < 0n ? 0n : free < ended.charge ? free : ended.charge;
    const paid = this.#pay(ended, ended.account, charged);
    const late = { ...lost, ...ended, charge: charged, short: ended.charge - charged, ...paid };
    this.requests.set(ended.id, { ...late, entries: lost.entries + 1 });
    return { code: 1, charged };
  }

  void(ids: Uuid[]): number[] {
    const found = new Set(ids.filter((id) => this.holds.has(id)));
    for (const id of found) {
      const hold = this.holds.get(id) as Hold;
      this.#endHold(hold);
      this.#rearm(hold.account);
    }
    return ids.map((id) => (found.has(id) ? 1 : 0));
  }

  renew(ids: Uuid[], leaseMs: number): number {
    const living = [...new Set(ids)].flatMap((id) => this.holds.get(id) ?? []);
    for (const hold of living) hold.expiresMs = this.#now() + leaseMs;
    return living.length;
  }

  expire(limit: number, leaseMs: number): number {
    const now = this.#now();
    const awayMs = now - this.#sweptMs - leaseMs / 4;
    this.#sweptMs = Math.max(this.#sweptMs, now);
    if (awayMs > 0) {
      for (const hold of this.holds.values())
        if (hold.expiresMs < now + leaseMs) hold.expiresMs = Math.min(hold.expiresMs + awayMs, now + leaseMs);
      return 0;
    }
    const ended = [...this.holds.values()].filter(({ expiresMs }) => expiresMs < now);
    ended.sort((a, b) => a.expiresMs - b.expiresMs);
    for (const hold of ended.slice(0, limit)) {
      this.#endHold(hold);
      this.#rearm(hold.account);
      const nobody = { host: null, node: null, finish: null, completionTokens: 0, attempts: 0, short: 0n, share: 0n };
      const unpaid = { withheld: null, granted: 0n };
      this.requests.set(hold.id, {
        ...hold,
        ...nobody,
        ...unpaid,
        charge: 0n,
        outcome: "gateway_lost",
        status: 500,
        entries: 1,
      });
    }
    return Math.min(limit, ended.length);
  }

  transfer(id: Uuid, kind: string, accountId: Uuid, amount: bigint): number {
    const account = this.accounts.get(accountId);
    if (account === undefined || (account.kind !== "builder" && account.kind !== "host")) return -2;
    if (this.transfers.has(id)) return 2;
    if (kind === "payout" && account.balance < amount) return 0;
    const signed = kind === "grant" || kind === "purchase" ? amount : -amount;
    this.transfers.add(id);
    const granted = least(account.granted, most(account.balance, 0n)) + (kind === "grant" ? amount : 0n);
    account.balance += signed;
    if (account.kind === "builder") account.granted = least(granted, most(account.balance, 0n));
    account.overdrawn = account.kind === "builder" && account.balance < account.held;
    (this.accounts.get(OUTSIDE) as Account).balance -= signed;
    this.entries.push({ operation: id, account: accountId, kind, amount: signed });
    this.entries.push({ operation: id, account: OUTSIDE, kind, amount: -signed });
    return 1;
  }

  /** Deducts a builder's debt from a host's balance. */
  setOff(id: Uuid, { host, builder, amount }: { host: Uuid; builder: Uuid; amount: bigint }): void {
    const [payer, debtor] = [this.accounts.get(host) as Account, this.accounts.get(builder) as Account];
    this.transfers.add(id);
    payer.balance -= amount;
    debtor.balance += amount;
    debtor.overdrawn = debtor.balance < debtor.held;
    this.entries.push({ operation: id, account: host, kind: "setoff", amount: -amount });
    this.entries.push({ operation: id, account: builder, kind: "setoff", amount });
  }

  /** Returns the sum of the host's shares that are in the reserve. */
  withheldFrom(host: Uuid): bigint {
    return this.entries
      .filter(({ account, kind, operation }) => {
        const isWithheld = account === RESERVE && kind === "withheld";
        return isWithheld && this.requests.get(operation)?.withheld?.host === host;
      })
      .reduce((sum, { amount }) => sum + amount, 0n);
  }

  /** Returns the sum of a key's charges and holds for requests made in a day or month. */
  #used(key: Uuid, isIn: (id: Uuid) => boolean): bigint {
    let used = 0n;
    for (const request of this.requests.values()) if (request.key === key && isIn(request.id)) used += request.charge;
    for (const hold of this.holds.values()) if (hold.key === key && isIn(hold.id)) used += hold.amount;
    return used;
  }

  #budgetRooms({ id, key }: Pick<HoldTerms, "id" | "key">): { code: number; room: bigint }[] {
    const budget = this.budgets.get(key);
    if (budget === undefined) return [];
    const rooms: { code: number; room: bigint }[] = [];
    for (const [max, length, code] of [
      [budget.dayMax, 10, -3],
      [budget.monthMax, 7, -4],
    ] as const) {
      if (max === null) continue;
      const span = dateOf(id).slice(0, length);
      rooms.push({ code, room: max - this.#used(key, (other) => dateOf(other).startsWith(span)) });
    }
    return rooms;
  }

  #budgetRefusal(order: HoldTerms): { code: number; room: bigint } | undefined {
    return this.#budgetRooms(order).find(({ room }) => order.amount > room);
  }

  #endHold(hold: Hold): void {
    this.holds.delete(hold.id);
    (this.accounts.get(hold.account) as Account).held -= hold.amount;
  }

  /** Clears the account's overdrawn mark once the balance covers the holds again. */
  #rearm(accountId: Uuid): void {
    const account = this.accounts.get(accountId) as Account;
    account.overdrawn = account.overdrawn && account.balance < account.held;
  }

  /** Pays for a request. Returns the host's share, and the part of the charge of which the host gets no share. */
  #pay({ id, host, withheld }: EndedRequest, payer: Uuid, charge: bigint): { share: bigint; granted: bigint } {
    const served = host ?? withheld?.host ?? null;
    const granted = served !== null && this.isOwn(payer, served) ? this.#spendGranted(payer, charge) : 0n;
    const due = ((charge - granted) * HOST_TENTHS) / 10n;
    const share = host === null ? 0n : due;
    const kept = host === null && withheld !== null ? due : 0n;
    for (const [account, kind, amount] of [
      [payer, "charge", -charge],
      [host, "share", share],
      [PLATFORM, "fee", charge - share],
      [PLATFORM, "withheld", -kept],
      [RESERVE, "withheld", kept],
    ] as const) {
      if (account === null || amount === 0n) continue;
      (this.accounts.get(account) as Account).balance += amount;
      this.entries.push({ operation: id, account, kind, amount });
    }
    return { share, granted };
  }

  #spendGranted(accountId: Uuid, charge: bigint): bigint {
    const account = this.accounts.get(accountId) as Account;
    const left = least(account.granted, most(account.balance, 0n));
    const part = least(charge, left);
    account.granted = left - part;
    return part;
  }
}

const least = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const most = (a: bigint, b: bigint): bigint => (a > b ? a : b);

const dateOf = (id: Uuid): string => new Date(creationTimeMsOf(id)).toISOString();
