/**
 * Finds the accounts that other transactions have locked, after a batch timed out at a lock. Only those accounts'
 * operations then run separately (db/account-queues.ts). The result may be outdated at once; then one operation runs
 * separately without need.
 */
import type pg from "pg";
import type { Uuid } from "../base/ids.ts";
import { formatUnquotedArray } from "../db/arrays.ts";
import { column, queryRows, row } from "../db/rows.ts";

const Id = row({ id: column.uuid });

const FREE = "select id from ledger_account where id = any ($1::text::uuid[]) for no key update skip locked";
const FREE_HOLDS = `select h.id from hold h join ledger_account a on a.id = h.account_id
  where h.id = any ($1::text::uuid[]) for no key update of a skip locked`;

async function lockedOf(pool: pg.Pool, text: string, asked: Uuid[]): Promise<Set<string>> {
  const locked = new Set<string>(asked);
  for (const { id } of await queryRows(pool, Id, text, [formatUnquotedArray(asked)])) locked.delete(id);
  return locked;
}

/**
 * Returns the locked accounts. Includes unknown accounts: their operations are refused, whether they run in a batch or
 * separately.
 */
export const findLockedAccounts = (pool: pg.Pool, accounts: Uuid[]): Promise<Set<string>> =>
  lockedOf(pool, FREE, [...new Set(accounts)]);

/** The holds whose account is locked. */
export const findLockedHolds = (pool: pg.Pool, holds: Uuid[]): Promise<Set<string>> =>
  lockedOf(pool, FREE_HOLDS, holds);
