/**
 * Stores the format in which a person wants numbers, dates and times. Null means the browser's settings, or `en-US` and
 * UTC where there is no browser.
 */
import type pg from "pg";
import { z } from "zod";
import { UnreachableError } from "../base/dependency.ts";
import type { Uuid } from "../base/ids.ts";
import { queryOne, queryRow, row } from "../db/rows.ts";

/** The migration that adds the columns for preferences. */
const PREFERENCES_SCHEMA = 53;

/** The migration that adds the ticks of the operators' set-up. */
const SETUP_TICKS_SCHEMA = 61;

const SetupTicks = row({ ticks: z.array(z.string()) });
const ChosenPreferences = row({ locale: z.string().nullable(), timeZone: z.string().nullable() });
export type ChosenPreferences = z.infer<typeof ChosenPreferences>;

const NOTHING_CHOSEN: ChosenPreferences = { locale: null, timeZone: null };

export interface Preferences {
  of(identityId: Uuid): Promise<ChosenPreferences>;
  /** Stores the preferences and returns them as stored. */
  set(identityId: Uuid, chosen: ChosenPreferences): Promise<ChosenPreferences>;
  /** The steps of the set-up that the operator ticked off. */
  setupTicks(identityId: Uuid): Promise<string[]>;
  tickSetup(identityId: Uuid, steps: string[]): Promise<void>;
}

/** The columns of `identity i`. Read through JSON, so that they are null on an older schema without them. */
export const PREFERENCE_COLUMNS = `to_jsonb(i) ->> 'locale' as locale, to_jsonb(i) ->> 'time_zone' as "timeZone"`;

export function openPreferences({ pool, schemaNumber }: { pool: pg.Pool; schemaNumber: () => number }): Preferences {
  const require = (migration: number): void => {
    if (schemaNumber() < migration) throw new UnreachableError("database", `it has no migration ${migration} yet`);
  };
  return {
    of: async (identityId) =>
      (await queryRow(pool, ChosenPreferences, `select ${PREFERENCE_COLUMNS} from identity i where i.id = $1`, [
        identityId,
      ])) ?? NOTHING_CHOSEN,
    set(identityId, { locale, timeZone }) {
      require(PREFERENCES_SCHEMA);
      return queryOne(
        pool,
        ChosenPreferences,
        `update identity i set locale = $2, time_zone = $3, updated_at = now() where i.id = $1 returning ${PREFERENCE_COLUMNS}`,
        [identityId, locale && (Intl.getCanonicalLocales(locale)[0] ?? null), timeZone],
      );
    },
    async setupTicks(identityId) {
      if (schemaNumber() < SETUP_TICKS_SCHEMA) return [];
      const text = "select setup_ticks as ticks from identity where id = $1";
      return (await queryRow(pool, SetupTicks, text, [identityId]))?.ticks ?? [];
    },
    async tickSetup(identityId, steps) {
      require(SETUP_TICKS_SCHEMA);
      await pool.query("update identity set setup_ticks = $2, updated_at = now() where id = $1", [identityId, steps]);
    },
  };
}
