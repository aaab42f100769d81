/** What a host has of the money it earned: paid, set off, still owed, and of that what is held back for now. */
import type pg from "pg";
import type { Uuid } from "../base/ids.ts";
import type { Pico } from "../base/money.ts";
import { column, queryOne, row } from "../db/rows.ts";

export interface HostMoney {
  /** Everything that was ever paid out. */
  paidOut: Pico;
  /** What went to builder accounts of its owners that owed after a refund or dispute. */
  setOff: Pico;
  /** What is still owed, promised payouts included. */
  pending: Pico;
  /** What of it is too young to be paid out. */
  heldBack: Pico;
}

const Sums = row({ paidOut: column.pico, setOff: column.pico, pending: column.pico, young: column.pico });

/** `holdDays`: how long earnings are held back. */
export function openHostMoney(options: { pool: pg.Pool; holdDays: number }): (hostId: Uuid) => Promise<HostMoney> {
  const { pool, holdDays } = options;
  return async (hostId) => {
    const { paidOut, setOff, pending, young } = await queryOne(
      pool,
      Sums,
      `select coalesce((select balance from ledger_account where id = $1), 0) as pending,
              coalesce(sum(amount) filter (where kind = 'payout'), 0) as "paidOut",
              coalesce(sum(amount) filter (where kind = 'setoff'), 0) as "setOff",
              payout_held_back($1, $2) as young
         from transfer where account_id = $1`,
      [hostId, holdDays],
    );
    // A set-off may have taken of what was held back, and earlier batches paid without a hold-back.
    return { paidOut, setOff, pending, heldBack: young < pending ? young : pending };
  };
}
