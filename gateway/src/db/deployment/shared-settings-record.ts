/** Reads and writes the shared settings in the database. */
import type pg from "pg";
import { z } from "zod";
import { DEPLOYMENT_TOPIC, sendBroadcast } from "../broadcast.ts";
import { column, queryOne, queryRows, row } from "../rows.ts";
import { type RecordedSetting, SHARED_SETTING_NAMES, type SharedSettingName } from "./setting-rules.ts";

/** The migration that adds the table of shared settings. */
export const SHARED_SETTINGS_MIGRATION = 44;
/** A value that a gateway reported within this time is in use. Gateways report every five seconds. */
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
  /** Whether a gateway has reported this value in the last 12 seconds. */
  isConfirmed: boolean;
}
export type StoredSettings = Partial<Record<SharedSettingName, StoredSetting>>;

/** Whether the table of shared settings exists. For commands, which may run on any schema version. */
export async function hasSharedSettings(db: pg.Pool): Promise<boolean> {
  return (await queryOne(db, There, `select to_regclass('shared_setting') is not null as "isThere"`)).isThere;
}

export async function readSharedSettings(db: pg.Pool): Promise<StoredSettings> {
  const stored = await queryRows(
    db,
    Stored,
    `select name, value, previous, changed_at as "changedAt",
            confirmed_at > clock_timestamp() - interval '${CONFIRMED_FOR}' as "isConfirmed" from shared_setting`,
  );
  // Ignores settings that a later version has recorded.
  const known = stored.filter(({ name }) => (SHARED_SETTING_NAMES as readonly string[]).includes(name));
  return Object.fromEntries(known.map(({ name, ...setting }) => [name, setting]));
}

/**
 * Records the first values. All gateways write rows in the same order, so if several start at once, one of them writes
 * all rows.
 */
export async function recordInitialSettings(db: pg.Pool, values: [SharedSettingName, string][]): Promise<void> {
  await db.query(
    `insert into shared_setting (name, value) select * from unnest($1::text[], $2::text[]) as n (name, value) order by name
      on conflict do nothing`,
    [values.map(([name]) => name), values.map(([, value]) => value)],
  );
}

/** Changes a setting only if `from` is still its current value, so of two concurrent changes one has an effect. */
export async function changeSharedSetting(
  db: pg.Pool,
  name: SharedSettingName,
  { from, to }: { from: RecordedSetting | undefined; to: RecordedSetting },
): Promise<void> {
  await db.query(
    `insert into shared_setting (name, value, previous) values ($1, $2, $3)
      on conflict (name) do update set value = excluded.value, previous = excluded.previous, changed_at = now(), confirmed_at = now()
       where shared_setting.value = $4 and shared_setting.previous is not distinct from $5`,
    [name, to.value, to.previous, from?.value ?? "", from?.previous ?? null],
  );
  await sendBroadcast(db, DEPLOYMENT_TOPIC, name);
}

/** Marks a value as in use. For all gateways together this is one small commit every few seconds. */
export async function confirmSharedSetting(db: pg.Pool, name: SharedSettingName, value: string): Promise<void> {
  await db.query(
    `update shared_setting set confirmed_at = clock_timestamp()
      where name = (select name from shared_setting where name = $1 and value = $2
                       and confirmed_at < clock_timestamp() - interval '4 seconds' for no key update skip locked)`,
    [name, value],
  );
}

/**
 * Deletes the shared settings of a database copy that will be used on its own. The copy has other servers, but its keys
 * are still hashed with the same pepper, so that setting stays.
 */
export async function deleteSharedSettings(db: pg.Pool): Promise<void> {
  if (await hasSharedSettings(db)) await db.query("delete from shared_setting where name <> 'pepper'");
}
