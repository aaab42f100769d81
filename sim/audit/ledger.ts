/** Checks the invariants of the ledger after every statement of the database, computed from the tables alone. */
import type { LedgerEntry, LedgerModel } from "../world/store/ledger-model.ts";
import type { World } from "../world/world.ts";

export class LedgerAudit {
  readonly #world: World;
  readonly #ledgerModel: LedgerModel;
  /** How many ledger entries were already checked. */
  #entriesSeen = 0;

  constructor(world: World) {
    this.#world = world;
    this.#ledgerModel = world.ledgerModel;
  }

  look(): void {
    const heldBy = new Map<string, bigint>();
    for (const { account, amount } of this.#ledgerModel.holds.values())
      heldBy.set(account, (heldBy.get(account) ?? 0n) + amount);
    let sum = 0n;
    for (const { id, kind, balance, held, overdrawn } of this.#ledgerModel.accounts.values()) {
      sum += balance;
      if (held !== (heldBy.get(id) ?? 0n))
        this.#fail("what is held is the sum of the holds", `${id}: ${held}, holds of ${heldBy.get(id) ?? 0n}`);
      if (kind === "builder" && !overdrawn && balance < held)
        this.#fail("no account is overspent", `${id}: balance ${balance}, held ${held}`);
      if (kind === "host" && balance < 0n) this.#fail("no host owes anything", `${id}: ${balance}`);
    }
    if (sum !== 0n) this.#fail("all balances sum to zero", String(sum));
    this.#lookAtEntries();
  }

  /** Runs once at the end: checks all entries again from the first. */
  lookAtAll(): void {
    const byAccount = new Map<string, bigint>();
    for (const { account, amount } of this.#ledgerModel.entries)
      byAccount.set(account, (byAccount.get(account) ?? 0n) + amount);
    for (const { id, balance } of this.#ledgerModel.accounts.values())
      if (balance !== (byAccount.get(id) ?? 0n))
        this.#fail("every balance is the sum of its entries", `${id}: ${balance}, entries ${byAccount.get(id) ?? 0n}`);
    const byOperation = new Map<string, bigint>();
    for (const { operation, kind, amount } of this.#ledgerModel.entries) {
      const name = `${operation} ${kind}`;
      byOperation.set(name, (byOperation.get(name) ?? 0n) + amount);
    }
    const inReserveOf = new Map<string, bigint>();
    for (const { operation, account, amount } of this.#ledgerModel.entries)
      if (this.#ledgerModel.accounts.get(account)?.kind === "reserve") inReserveOf.set(operation, amount);
    for (const request of this.#ledgerModel.requests.values()) {
      const of = (kind: string): bigint => byOperation.get(`${request.id} ${kind}`) ?? 0n;
      if (of("charge") !== -request.charge)
        this.#fail("a request is charged once", `${request.id}: ${of("charge")} of ${request.charge}`);
      const due = ((request.charge - request.granted) * 7n) / 10n;
      const share = request.host === null ? 0n : due;
      if (of("share") !== share)
        this.#fail("a host is paid exactly its shares", `${request.id}: ${of("share")} of ${share}`);
      const kept = request.host === null && request.withheld !== null ? due : 0n;
      const inReserve = inReserveOf.get(request.id) ?? 0n;
      if (inReserve !== kept)
        this.#fail("what is withheld from a host is in the reserve", `${request.id}: ${inReserve} of ${kept}`);
      if (request.charge + request.short > request.amount)
        this.#fail("no charge is above its hold", `${request.id}: ${request.charge} of ${request.amount}`);
    }
  }

  #lookAtEntries(): void {
    const added = new Map<string, bigint>();
    for (; this.#entriesSeen < this.#ledgerModel.entries.length; this.#entriesSeen++) {
      const { operation, amount } = this.#ledgerModel.entries[this.#entriesSeen] as LedgerEntry;
      added.set(operation, (added.get(operation) ?? 0n) + amount);
    }
    for (const [operation, sum] of added)
      if (sum !== 0n) this.#fail("entries of every operation sum to zero", `${operation}: ${sum}`);
  }

  #fail(rule: string, detail: string): void {
    this.#world.fail(rule, detail);
  }
}
