/**
 * Settlements that the database refused permanently, of all gateways, until an operator has entered them. The gateway's
 * disk has the whole settlement (`given-up.jsonl`); the database only has what an operator needs to notice it.
 */
import type pg from "pg";
import { column, queryOne, row } from "../db/rows.ts";
import type { Settlement } from "./settlement.ts";

/** The migration that adds the table. */
export const GIVEN_UP_MIGRATION = 61;

export interface GivenUpSettlements {
  record(settlement: Settlement, reason: string): Promise<void>;
  /** Counts those that are not in the ledger yet. */
  count(): Promise<number>;
  /** Deletes those that have been entered, before the request's own record is deleted. */
  prune(): Promise<void>;
}

const Count = row({ count: column.count });
/** A request whose lease expired is still to be charged. */
const IS_ENTERED = `exists (select from request where id = g.request_id and outcome <> 'gateway_lost')`;

/** `isThere`: whether the database has the table. During an upgrade, the migration may not have run yet. */
export function openGivenUpSettlements(pool: pg.Pool, isThere: () => boolean = () => true): GivenUpSettlements {
  return {
    async record({ id, charge }, reason) {
      if (!isThere()) return;
      await pool.query(
        "insert into settlement_given_up (request_id, charge, reason) values ($1, $2, $3) on conflict do nothing",
        [id, charge.toString(), reason],
      );
    },
    async count() {
      if (!isThere()) return 0;
      const text = `select count(*)::int as count from settlement_given_up g where not ${IS_ENTERED}`;
      return (await queryOne(pool, Count, text)).count;
    },
    async prune() {
      if (isThere()) await pool.query(`delete from settlement_given_up g where ${IS_ENTERED}`);
    },
  };
}
