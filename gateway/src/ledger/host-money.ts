/** What a host has of the money it earned: paid, set off, still owed, and of that what is held back for now. */
import type pg from "pg";
import type { Uuid } from "../base/ids.ts";
import { type Pico, pico } from "../base/money.ts";

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

/** `holdDays`: how long earnings are held back. */
export function openHostMoney(options: { pool: pg.Pool; holdDays: number }): (hostId: Uuid) => Promise<HostMoney> {
  const { pool, holdDays } = options;
  return async (hostId) => {
    const { rows } = await pool.query<Record<"paid" | "set_off" | "pending" | "young", string>>(
      `select coalesce((select balance from ledger_account where id = $1), 0) as pending,
              coalesce(sum(amount) filter (where kind = 'payout'), 0) as paid,
              coalesce(sum(amount) filter (where kind = 'setoff'), 0) as set_off,
              payout_held_back($1, $2) as young
         from transfer where account_id = $1`,
      [hostId, holdDays],
    );
    const [row] = rows;
    const amount = (text: string | undefined): Pico => pico(BigInt(text ?? 0));
    const [pending, young] = [amount(row?.pending), amount(row?.young)];
    // A set-off may have taken of what was held back, and earlier batches paid without a hold-back.
    return {
      paidOut: amount(row?.paid),
      setOff: amount(row?.set_off),
      pending,
      heldBack: young < pending ? young : pending,
    };
  };
}
