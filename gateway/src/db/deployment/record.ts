/** The shared settings as stored in the database. */
import type pg from "pg";
import { z } from "zod";
import { announce, DEPLOYMENT_TOPIC } from "../broadcast.ts";
import { column, queryOne, queryRows, row } from "../rows.ts";
import { type RecordedSetting, SHARED_NAMES, type SharedName } from "./rules.ts";

/** The migration that adds the table. */
export const SHARED_SETTINGS_SINCE = 44;
/** A value that was reported this recently counts as in use. Gateways check every five seconds. */
const CONFIRMED_FOR = "12 seconds";

const Stored = row({
  name: z.string(),
  value: z.string(),
  previous: z.string().nullable(),
  changedAt: column.moment,
  isConfirmed: z.boolean(),
});
const There = row({ isThere: z.boolean() });

export interface StoredSetting extends RecordedSetting {
  changedAt: Date;
  /** A gateway has just reported it. */
  isConfirmed: boolean;
}
export type StoredSettings = Partial<Record<SharedName, StoredSetting>>;

/** Whether the table exists, for commands. Gateways know their schema. */
export async function keepsSharedSettings(db: pg.Pool): Promise<boolean> {
  return (await queryOne(db, There, `select to_regclass('shared_setting') is not null as "isThere"`)).isThere;
}

export async function readShared(db: pg.Pool): Promise<StoredSettings> {
  const stored = await queryRows(
    db,
    Stored,
    `select name, value, previous, changed_at as "changedAt",
            confirmed_at > clock_timestamp() - interval '${CONFIRMED_FOR}' as "isConfirmed" from shared_setting`,
  );
  // A later version may have recorded additional settings.
  const known = stored.filter(({ name }) => (SHARED_NAMES as readonly string[]).includes(name));
  return Object.fromEntries(known.map(({ name, ...setting }) => [name, setting]));
}

/** Rows are written in one order, so that one of several starting gateways writes all of them. */
export async function recordFirst(db: pg.Pool, values: [SharedName, string][]): Promise<void> {
  await db.query(
    `insert into shared_setting (name, value) select * from unnest($1::text[], $2::text[]) as n (name, value) order by name
      on conflict do nothing`,
    [values.map(([name]) => name), values.map(([, value]) => value)],
  );
}

/** `from`: the expected current value. A concurrent second change has no effect. */
export async function changeShared(
  db: pg.Pool,
  name: SharedName,
  { from, to }: { from: RecordedSetting | undefined; to: RecordedSetting },
): Promise<void> {
  await db.query(
    `insert into shared_setting (name, value, previous) values ($1, $2, $3)
      on conflict (name) do update set value = excluded.value, previous = excluded.previous, changed_at = now(), confirmed_at = now()
       where shared_setting.value = $4 and shared_setting.previous is not distinct from $5`,
    [name, to.value, to.previous, from?.value ?? "", from?.previous ?? null],
  );
  await announce(db, DEPLOYMENT_TOPIC, name);
}

/** One small commit every few seconds for all gateways together. */
export async function confirmShared(db: pg.Pool, name: SharedName, value: string): Promise<void> {
  await db.query(
    `update shared_setting set confirmed_at = clock_timestamp()
      where name = (select name from shared_setting where name = $1 and value = $2
                       and confirmed_at < clock_timestamp() - interval '4 seconds' for no key update skip locked)`,
    [name, value],
  );
}

/**
 * For a copy of the database that is used on its own. It has other servers, but its keys are still hashed with the same pepper, so that
 * setting stays.
 */
export async function forgetShared(db: pg.Pool): Promise<void> {
  if (await keepsSharedSettings(db)) await db.query("delete from shared_setting where name <> 'pepper'");
}
