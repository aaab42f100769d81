/** The queries for balances, statements and amounts owed to hosts that the HTTP routes use. */
import type pg from "pg";
import type { Uuid } from "../base/ids.ts";
import { type BalanceChanges, openBalanceChangeReader } from "./balance-changes.ts";
import { GIVEN_UP_MIGRATION, type GivenUpSettlements, openGivenUpSettlements } from "./given-up-settlements.ts";
import { type HostMoney, openHostMoneyReader } from "./host-money.ts";
import type { Ledger } from "./ledger.ts";
import { openAccountStatement, type StatementReader } from "./statement.ts";
import { openWithheldSharesReserve, type WithheldSharesReserve } from "./withheld-shares-reserve.ts";

export interface LedgerServices {
  ledger: Ledger;
  statement: StatementReader;
  /** Returns the requests and transfers that changed an account's balance in a span of time. */
  moves: (accountId: Uuid, span: { from: Date; to: Date }) => Promise<BalanceChanges>;
  /** Returns what a host is owed, and how much of it can be paid out. */
  hostMoney: (hostAccountId: Uuid) => Promise<HostMoney>;
  /** The withheld shares, and the payments for spot checks. */
  reserve: WithheldSharesReserve;
  givenUp: GivenUpSettlements;
}

interface LedgerServicesOptions {
  pool: pg.Pool;
  /** `number`: the number of the database's newest applied migration. */
  schema: { readonly number: number };
  ledger: Ledger;
  /** The hold-back period in days, during which earnings are not paid out. */
  payoutHoldDays: number;
}

export const openLedgerServices = ({
  pool,
  schema,
  ledger,
  payoutHoldDays: holdDays,
}: LedgerServicesOptions): LedgerServices => ({
  ledger,
  statement: openAccountStatement({ pool }),
  moves: openBalanceChangeReader({ pool }),
  hostMoney: openHostMoneyReader({ pool, holdDays }),
  reserve: openWithheldSharesReserve({ pool }),
  givenUp: openGivenUpSettlements(pool, () => schema.number >= GIVEN_UP_MIGRATION),
});
