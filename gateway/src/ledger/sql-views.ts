/**
 * The views and columns that ledger queries use. Since migration 0030 they exist in the database. On an older schema,
 * during a rolling upgrade, a `with` clause derives them.
 */
import type pg from "pg";
import { z } from "zod";
import { queryOne, row } from "../db/rows.ts";

/** The migration that adds views of ledger entries and functions for single operations. */
export const DERIVED_ENTRIES_MIGRATION = 30;

const Derived = row({ isDerived: z.boolean() });

const STORED = `
  ledger_book as (select id, kind, balance, held from ledger_account),
  ledger_closing as (
    select null::date as month, null::uuid as account_id, null::text as kind, null::numeric as amount, null::bigint as requests,
           null::bigint as prompt_tokens, null::bigint as completion_tokens where false
  ),
  history_closing as (select null::date as month, null::numeric as charged, null::numeric as shared where false),
  history_kept as (select null::timestamptz as refusals_from),
  ledger_entry as (
    select (lpad(to_hex(e.id), 16, '0') || repeat('0', 16))::uuid as position,
           case when e.kind in ('charge', 'share', 'fee') then 'request' else 'transfer' end as "of", e.operation, e.account_id,
           e.kind, e.amount, e.at
      from ledger_entry e
  ),
  transfer as (
    select t.*, e.account_id as other_account_id
      from transfer t left join ledger_entry e on t.kind = 'setoff' and e.operation = t.id and e.account_id <> t.account_id
  )`;

/** Returns the `with` clause that a ledger query must start with. Empty when the database has the views. */
export async function buildLedgerViewsClause(db: pg.Pool | pg.PoolClient): Promise<string> {
  const { isDerived } = await queryOne(db, Derived, `select to_regclass('ledger_book') is not null as "isDerived"`);
  return isDerived ? "" : `with ${STORED} `;
}
