/**
 * The settlements, of all gateways, that the database refused permanently, until an operator has entered them in the
 * ledger. The gateway's disk has the whole settlement (`given-up.jsonl`); the database only has what an operator needs
 * to notice it.
 */
import type pg from "pg";
import { column, queryOne, row } from "../db/rows.ts";
import type { Settlement } from "./settlement-sql.ts";

/** The migration that adds the table `settlement_given_up`. */
export const GIVEN_UP_MIGRATION = 61;

export interface GivenUpSettlements {
  record(settlement: Settlement, reason: string): Promise<void>;
  /** Counts the given-up settlements that are not in the ledger yet. */
  count(): Promise<number>;
  /** Deletes those that are in the ledger by now, while their requests' records still exist to prove it. */
  prune(): Promise<void>;
}

const Count = row({ count: column.count });
/** A request recorded as `gateway_lost`, because its lease expired, is not charged yet. */
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
