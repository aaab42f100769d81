/** Tracks the settlements in progress, and which of them are safe: in the ledger, on disk, or given up. */
import type { Deadline } from "../base/deadlines.ts";
import { type SetEntry, ShortLivedSet } from "../base/short-lived-collections.ts";
import type { Settlement } from "./settlement-sql.ts";

export interface PendingSettlement {
  settlement: Settlement;
  isOver: boolean;
  isSpooled: boolean;
  isSpooling: boolean;
  /** The database refused this settlement's values. That says nothing about other settlements. */
  isRefused: boolean;
  isSafe: boolean;
  /**
   * Lets the waiting caller of `secure` continue. Called when the settlement is safe (in the ledger or on disk), or
   * when the disk takes too long.
   */
  answer: (() => void) | undefined;
  /** The settlement's entry in the set of all settlements. `due` is its deadline for being written to disk. */
  seat: SetEntry<PendingSettlement> | undefined;
  due: Deadline<PendingSettlement> | undefined;
}

export class PendingSettlements {
  readonly #works = new ShortLivedSet<PendingSettlement>();
  /** The number of settlements that are not safe yet, and the callers that wait until it is zero. */
  #unsafe = 0;
  readonly #idlers: (() => void)[] = [];

  begin(settlement: Settlement): PendingSettlement {
    const work: PendingSettlement = {
      settlement,
      isOver: false,
      isSpooled: false,
      isSpooling: false,
      isRefused: false,
      isSafe: false,
      answer: undefined,
      seat: undefined,
      due: undefined,
    };
    work.seat = this.#works.add(work);
    this.#unsafe += 1;
    return work;
  }

  makeSafe(work: PendingSettlement): void {
    work.answer?.();
    if (work.isSafe) return;
    work.isSafe = true;
    this.#unsafe -= 1;
    if (this.#unsafe === 0) for (const resolve of this.#idlers.splice(0)) resolve();
  }

  end(work: PendingSettlement): void {
    work.isOver = true;
    if (work.seat !== undefined) this.#works.delete(work.seat);
    this.makeSafe(work);
  }

  /** Resolves when all settlements are safe: in the ledger, on disk, or given up. */
  idle(): Promise<void> {
    return this.#unsafe === 0 ? Promise.resolve() : new Promise((resolve) => this.#idlers.push(resolve));
  }

  all(): PendingSettlement[] {
    return this.#works.all();
  }
}
