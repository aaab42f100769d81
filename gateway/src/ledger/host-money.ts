/** Computes what a host has earned: amounts paid out, set off, still owed, held back and withheld. */
import type pg from "pg";
import type { Uuid } from "../base/ids.ts";
import { type Pico, ZERO } from "../base/money.ts";
import { column, queryOne, row } from "../db/rows.ts";
import { hasWithheldSharesReserve } from "./withheld-shares-reserve.ts";

export interface HostMoney {
  /** The sum of all payouts to the host. */
  paidOut: Pico;
  /** Earnings that were deducted for debts of its owners' builder accounts, after refunds or disputes. */
  setOff: Pico;
  /** Earnings that are still owed, including those in open payout batches. */
  pending: Pico;
  /** The part of `pending` that is younger than the hold-back period. */
  heldBack: Pico;
  /** Withheld shares in the platform's reserve, which an operator may release. Not part of the other amounts. */
  withheld: Pico;
}

const Sums = row({ paidOut: column.pico, setOff: column.pico, pending: column.pico, young: column.pico });
const Withheld = row({ withheld: column.pico });
const WITHHELD = `select coalesce(sum(amount_pico), 0) as withheld from withheld_share
  where host_account_id = $1 and released_at is null`;

const NOTHING = { withheld: ZERO };

/** `holdDays`: the hold-back period in days, during which earnings are not paid out. */
export function openHostMoneyReader(options: {
  pool: pg.Pool;
  holdDays: number;
}): (hostId: Uuid) => Promise<HostMoney> {
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
    const { withheld } = (await hasWithheldSharesReserve(pool))
      ? await queryOne(pool, Withheld, WITHHELD, [hostId])
      : NOTHING;
    // `heldBack` is at most `pending`. Earnings younger than the hold-back period may be more than that, because
    // set-offs used some of them, or because a payout batch from before there was a hold-back period included them.
    return { paidOut, setOff, pending, heldBack: young < pending ? young : pending, withheld };
  };
}
