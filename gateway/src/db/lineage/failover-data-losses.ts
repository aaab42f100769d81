/**
 * Reads the losses of failovers that gateways recorded, and stores an operator's decision on which history to follow.
 */
import type pg from "pg";
import { z } from "zod";
import type { NewId } from "../../base/ids.ts";
import { column, queryOne, queryRows, row } from "../rows.ts";

const FailoverDataLoss = row({
  epoch: column.uuid,
  timeline: z.int(),
  gateway: z.string(),
  foundAt: column.moment,
  /** How many positions of the database's history were lost. Gateways advance the position about once per second. */
  positions: z.number(),
  /** How many rows were re-entered, by kind. */
  entered: z.record(z.string(), z.number()),
  notEntered: z.array(z.object({ kind: z.string(), id: z.string(), reason: z.string() })),
});
export type FailoverDataLoss = z.infer<typeof FailoverDataLoss>;

const There = row({ isThere: z.boolean() });

/** Reads the losses, newest first. Empty if the database has no table for losses yet. */
export async function readFailoverDataLosses(pool: pg.Pool, since: Date = new Date(0)): Promise<FailoverDataLoss[]> {
  const { isThere } = await queryOne(pool, There, `select to_regclass('history_loss') is not null as "isThere"`);
  if (!isThere) return [];
  return await queryRows(
    pool,
    FailoverDataLoss,
    `select l.epoch, h.timeline, l.gateway, l.found_at as "foundAt", l.positions::float8 as positions, l.entered,
            l.not_entered as "notEntered"
       from history_loss l join ledger_history h on h.epoch = l.epoch
      where l.found_at >= $1 order by l.found_at desc, l.gateway limit 1000`,
    [since],
  );
}

const Accepted = row({ epoch: column.uuid, system: z.string(), timeline: z.int() });

/** Makes gateways follow this database's history, even if they have seen a later or another one. */
export const acceptDatabaseHistory = (pool: pg.Pool, newId: NewId): Promise<z.infer<typeof Accepted>> =>
  queryOne(
    pool,
    Accepted,
    `insert into ledger_history (epoch, system, timeline, position, reason)
     select $1, (select system_identifier::text from pg_control_system()),
            ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int, coalesce(max(position), 0), 'accepted'
       from ledger_history
     returning epoch, system, timeline`,
    [newId()],
  );
