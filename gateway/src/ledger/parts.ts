/** The queries for balances, statements and amounts owed to hosts that the HTTP routes use. */
import type pg from "pg";
import type { Uuid } from "../base/ids.ts";
import { type BalanceChanges, openBalanceChanges } from "./balance-changes.ts";
import { type HostMoney, openHostMoney } from "./host-money.ts";
import type { Ledger } from "./ledger.ts";
import { openReserve, type Reserve } from "./reserve.ts";
import { openStatement, type Statement } from "./statement.ts";

export interface LedgerParts {
  ledger: Ledger;
  statement: Statement;
  /** Returns the requests and transfers that changed an account's balance in a span of time. */
  moves: (accountId: Uuid, span: { from: Date; to: Date }) => Promise<BalanceChanges>;
  /** Returns what a host is owed, and how much of it can be paid out. */
  hostMoney: (hostAccountId: Uuid) => Promise<HostMoney>;
  /** The withheld shares, and the payments for spot checks. */
  reserve: Reserve;
}

interface LedgerPartsOptions {
  pool: pg.Pool;
  ledger: Ledger;
  /** The hold-back period in days, during which earnings are not paid out. */
  payoutHoldDays: number;
}

export const openLedgerParts = ({ pool, ledger, payoutHoldDays: holdDays }: LedgerPartsOptions): LedgerParts => ({
  ledger,
  statement: openStatement({ pool }),
  moves: openBalanceChanges({ pool }),
  hostMoney: openHostMoney({ pool, holdDays }),
  reserve: openReserve({ pool }),
});
