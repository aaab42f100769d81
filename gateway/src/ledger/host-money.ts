/** What a host has of the money it earned: paid, set off, still owed, and of that what is held back for now. And what is withheld. */
import type pg from "pg";
import type { Uuid } from "../base/ids.ts";
import { type Pico, ZERO } from "../base/money.ts";
import { column, queryOne, row } from "../db/rows.ts";
import { hasReserve } from "./reserve.ts";

export interface HostMoney {
  /** Everything that was ever paid out. */
  paidOut: Pico;
  /** What went to builder accounts of its owners that owed after a refund or dispute. */
  setOff: Pico;
  /** What is still owed, promised payouts included. */
  pending: Pico;
  /** What of it is too young to be paid out. */
  heldBack: Pico;
  /** Shares that the platform's reserve has, and that an operator may release: no part of the others. */
  withheld: Pico;
}

const Sums = row({ paidOut: column.pico, setOff: column.pico, pending: column.pico, young: column.pico });
const Withheld = row({ withheld: column.pico });
const WITHHELD = `select coalesce(sum(amount_pico), 0) as withheld from withheld_share
  where host_account_id = $1 and released_at is null`;

const NOTHING = { withheld: ZERO };

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
    const { withheld } = (await hasReserve(pool)) ? await queryOne(pool, Withheld, WITHHELD, [hostId]) : NOTHING;
    // A set-off may have taken of what was held back, and earlier batches paid without a hold-back.
    return { paidOut, setOff, pending, heldBack: young < pending ? young : pending, withheld };
  };
}
