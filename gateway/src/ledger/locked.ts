/**
 * Which accounts someone else has locked, asked after a batch of the ledger waited for too long: only their operations go apart
 * (db/lanes.ts). What is locked at the moment of the question may be free in the next; then it is served apart once, and that is all.
 */
import type pg from "pg";
import type { Uuid } from "../base/ids.ts";
import { plainArray } from "../db/arrays.ts";
import { column, queryRows, row } from "../db/rows.ts";

const Id = row({ id: column.uuid });

const FREE = "select id from ledger_account where id = any ($1::text::uuid[]) for no key update skip locked";
const FREE_HOLDS = `select h.id from hold h join ledger_account a on a.id = h.account_id
  where h.id = any ($1::text::uuid[]) for no key update of a skip locked`;

async function lockedOf(pool: pg.Pool, text: string, asked: Uuid[]): Promise<Set<string>> {
  const locked = new Set<string>(asked);
  for (const { id } of await queryRows(pool, Id, text, [plainArray(asked)])) locked.delete(id);
  return locked;
}

/** An account that does not exist counts as locked: what is asked of it is refused apart as well as in a batch. */
export const lockedAccounts = (pool: pg.Pool, accounts: Uuid[]): Promise<Set<string>> =>
  lockedOf(pool, FREE, [...new Set(accounts)]);

/** Of these holds, those whose account is locked. */
export const lockedHolds = (pool: pg.Pool, holds: Uuid[]): Promise<Set<string>> => lockedOf(pool, FREE_HOLDS, holds);
