/**
 * The names that the ledger is read by. Since migration 0030 they are views and columns of the database. Before it, and a gateway
 * works there too while a new version is rolled out, the same names are made of what is stored there.
 */
import type pg from "pg";
import { z } from "zod";
import { queryOne, row } from "../db/rows.ts";

/** The migration since which entries are derived, and a batch of one has functions of its own. */
export const DERIVED_SINCE = 30;

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

/** What a statement that reads the ledger begins with: nothing where the database itself has their names. */
export async function ledgerViews(db: pg.Pool | pg.PoolClient): Promise<string> {
  const { isDerived } = await queryOne(db, Derived, `select to_regclass('ledger_book') is not null as "isDerived"`);
  return isDerived ? "" : `with ${STORED} `;
}
