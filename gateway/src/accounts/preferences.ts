/** How a person wants numbers, dates and times. Null: as the browser has them, or `en-US` and UTC where there is none. */
import type pg from "pg";
import { z } from "zod";
import { Away } from "../base/dependency.ts";
import type { Uuid } from "../base/ids.ts";
import { queryOne, queryRow, row } from "../db/rows.ts";

/** The migration that made the columns. */
const PREFERENCES_SCHEMA = 53;

const Chosen = row({ locale: z.string().nullable(), timeZone: z.string().nullable() });
export type Chosen = z.infer<typeof Chosen>;

const NOTHING_CHOSEN: Chosen = { locale: null, timeZone: null };

export interface Preferences {
  of(identityId: Uuid): Promise<Chosen>;
  /** Returns them as they are kept. */
  set(identityId: Uuid, chosen: Chosen): Promise<Chosen>;
}

/** Columns of `identity i`. By way of JSON, so that they are null on a schema that does not have them. */
export const CHOSEN = `to_jsonb(i) ->> 'locale' as locale, to_jsonb(i) ->> 'time_zone' as "timeZone"`;

export function openPreferences({ pool, schemaNumber }: { pool: pg.Pool; schemaNumber: () => number }): Preferences {
  return {
    of: async (identityId) =>
      (await queryRow(pool, Chosen, `select ${CHOSEN} from identity i where i.id = $1`, [identityId])) ??
      NOTHING_CHOSEN,
    set(identityId, { locale, timeZone }) {
      if (schemaNumber() < PREFERENCES_SCHEMA) {
        throw new Away("database", `it has no migration ${PREFERENCES_SCHEMA} yet`);
      }
      return queryOne(
        pool,
        Chosen,
        `update identity i set locale = $2, time_zone = $3, updated_at = now() where i.id = $1 returning ${CHOSEN}`,
        [identityId, locale && (Intl.getCanonicalLocales(locale)[0] ?? null), timeZone],
      );
    },
  };
}
