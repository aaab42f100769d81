/** Balances, statements and what hosts are owed, as routes use them. */
import type pg from "pg";
import type { Uuid } from "../base/ids.ts";
import { type HostMoney, openHostMoney } from "./host-money.ts";
import type { Ledger } from "./ledger.ts";
import { type Moves, openMoves } from "./moves.ts";
import { openReserve, type Reserve } from "./reserve.ts";
import { openStatement, type Statement } from "./statement.ts";

export interface LedgerParts {
  ledger: Ledger;
  statement: Statement;
  /** What moved an account's balance in a span of time. */
  moves: (accountId: Uuid, span: { from: Date; to: Date }) => Promise<Moves>;
  /** What a host is owed, and how much of it may be paid out. */
  hostMoney: (hostAccountId: Uuid) => Promise<HostMoney>;
  /** Withheld shares, and what they pay for. */
  reserve: Reserve;
}

interface LedgerPartsOptions {
  pool: pg.Pool;
  ledger: Ledger;
  /** How long earnings are held back before they are paid out. */
  payoutHoldDays: number;
}

export const openLedgerParts = ({ pool, ledger, payoutHoldDays: holdDays }: LedgerPartsOptions): LedgerParts => ({
  ledger,
  statement: openStatement({ pool }),
  moves: openMoves({ pool }),
  hostMoney: openHostMoney({ pool, holdDays }),
  reserve: openReserve({ pool }),
});
