/**
 * Payout batches in memory, following `payout_create` and `payout_paid` (gateway/sql/functions/payout_*.sql);
 * compare-with-postgres.test.ts compares both. All earnings of a world are recent, so a hold-back period withholds all of them.
 */
import type { Uuid } from "../../../gateway/src/base/ids.ts";
import type { LedgerModel } from "./ledger-model.ts";

interface PayoutLine {
  id: Uuid;
  account: Uuid;
  amount: bigint;
  heldBack: bigint;
  setOff: bigint;
  /** The host's withheld shares when the batch is created. */
  withheld: bigint;
}

export interface PayoutBatch {
  id: Uuid;
  note: string;
  by: string;
  createdMs: number;
  paidMs: number | null;
  lines: PayoutLine[];
}

interface SetOff {
  batch: Uuid;
  host: Uuid;
  builder: Uuid;
  amount: bigint;
}

export class PayoutModel {
  readonly batches = new Map<Uuid, PayoutBatch>();
  readonly setOffs: SetOff[] = [];
  /** For each host account, the builder accounts with the same owner. */
  readonly ownedWith = new Map<Uuid, Uuid[]>();
  readonly #ledgerModel: LedgerModel;
  readonly #newId: () => Uuid;
  readonly #now: () => number;

  constructor({ ledgerModel, newId, now }: { ledgerModel: LedgerModel; newId: () => Uuid; now: () => number }) {
    this.#ledgerModel = ledgerModel;
    this.#newId = newId;
    ledgerModel.isOwn = (builder, host) => this.ownedWith.get(host)?.includes(builder) ?? false;
    this.#now = now;
  }

  /** Creates a batch. Returns the number of hosts that it pays. */
  create(order: { id: Uuid; note: string; by: string; minimum: bigint; holdDays: number }): number {
    const { id, note, by } = order;
    const known = this.batches.get(id);
    if (known !== undefined) return paidBy(known);
    const moved = this.#setOffAll(id);
    const minimum = order.minimum > 1n ? order.minimum : 1n;
    const lines = this.#hosts().flatMap((host): PayoutLine[] => {
      const free = most(0n, this.#freeOf(host));
      const heldBack = order.holdDays > 0 ? least(free, this.#earned(host)) : 0n;
      const payable = free - heldBack;
      const setOff = moved.get(host) ?? 0n;
      if (payable < minimum && heldBack === 0n && setOff === 0n) return [];
      const amount = payable >= minimum ? payable : 0n;
      return [
        { id: this.#newId(), account: host, amount, heldBack, setOff, withheld: this.#ledgerModel.withheldFrom(host) },
      ];
    });
    const batch: PayoutBatch = { id, note, by, createdMs: this.#now(), paidMs: null, lines };
    const paid = paidBy(batch);
    if (paid === 0 && moved.size === 0) return 0;
    if (paid === 0) batch.paidMs = batch.createdMs;
    this.batches.set(id, batch);
    return paid;
  }

  /**
   * Marks a batch as paid. Returns 1: paid now. 2: paid before. 0: no such batch. 3: a host's balance is lower than its
   * line's amount.
   */
  pay(id: Uuid): number {
    const batch = this.batches.get(id);
    if (batch === undefined) return 0;
    if (batch.paidMs !== null) return 2;
    if (this.short(id).length > 0) return 3;
    for (const line of batch.lines)
      if (line.amount > 0n) this.#ledgerModel.transfer(line.id, "payout", line.account, line.amount);
    batch.paidMs = this.#now();
    return 1;
  }

  /** Returns the lines whose amounts exceed their hosts' balances. */
  short(id: Uuid): PayoutLine[] {
    const lines = this.batches.get(id)?.lines ?? [];
    return lines.filter(({ account, amount }) => this.#balance(account) < amount);
  }

  /** Returns the sum of the host's lines in unpaid batches. */
  promised(host: Uuid): bigint {
    let sum = 0n;
    for (const { paidMs, lines } of this.batches.values())
      if (paidMs === null) for (const { account, amount } of lines) if (account === host) sum += amount;
    return sum;
  }

  /** Sets debts off against earnings, in the order of hosts and then of debts. */
  #setOffAll(batch: Uuid): Map<Uuid, bigint> {
    const moved = new Map<Uuid, bigint>();
    for (const host of this.#hosts()) {
      for (const builder of [...(this.ownedWith.get(host) ?? [])].sort()) {
        const amount = least(this.#freeOf(host), -this.#balance(builder));
        if (amount <= 0n) continue;
        this.#ledgerModel.setOff(this.#newId(), { host, builder, amount });
        this.setOffs.push({ batch, host, builder, amount });
        moved.set(host, (moved.get(host) ?? 0n) + amount);
      }
    }
    return moved;
  }

  #hosts(): Uuid[] {
    return [...this.#ledgerModel.accounts.values()]
      .filter(({ kind }) => kind === "host")
      .map(({ id }) => id)
      .sort();
  }

  #freeOf(host: Uuid): bigint {
    return this.#balance(host) - this.promised(host);
  }

  #balance(account: Uuid): bigint {
    return this.#ledgerModel.accounts.get(account)?.balance ?? 0n;
  }

  #earned(host: Uuid): bigint {
    let sum = 0n;
    for (const request of this.#ledgerModel.requests.values()) if (request.host === host) sum += request.share;
    return sum;
  }
}

const least = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const most = (a: bigint, b: bigint): bigint => (a > b ? a : b);
const paidBy = ({ lines }: PayoutBatch): number => lines.filter(({ amount }) => amount > 0n).length;
