/**
 * Availability of models: sampled by every gateway, counted once (sql/functions/availability_sample.sql), stored hourly, with incidents
 * derived from it (sql/functions/incident_judge.sql).
 */
import type pg from "pg";
import { z } from "zod";
import { INCIDENT_KINDS } from "../base/stored-enumerations.ts";
import { formatTextArray, formatUnquotedArray } from "../db/arrays.ts";
import { column, queryOne, queryRows, row } from "../db/rows.ts";
import type { TimeSlots } from "./performance-reader.ts";

/** A model's connected nodes as one gateway sees them. */
export interface ModelSample {
  model: string;
  nodes: number;
  slots: number;
  busy: number;
}

const Sampled = row({ isFirst: z.boolean(), nextInMs: z.number() });
type Sampled = z.infer<typeof Sampled>;
const Sum = row({ slot: column.moment, model: z.string(), samples: column.count, up: column.count });
export type AvailabilitySum = z.infer<typeof Sum>;

const Incident = row({
  model: z.string(),
  kind: z.enum(INCIDENT_KINDS),
  beganAt: column.moment,
  endedAt: column.moment.nullable(),
});
export type Incident = z.infer<typeof Incident>;

export interface ModelAvailability {
  /**
   * Records the models as this gateway sees them now. Returns whether it was the first sample of this time slot, and
   * when the next slot begins. Uses the database's clock, which tests replace by `at`.
   */
  sample(seen: ModelSample[], at?: Date): Promise<Sampled>;
  /** Sums by time slot and model. Leaves out slots without a sample. */
  sums(span: Pick<TimeSlots, "slotMs" | "from" | "to">, model?: string): Promise<AvailabilitySum[]>;
  /** Incidents that had not ended by `from`, newest first. */
  incidents(span: { from: Date; limit: number; model?: string }): Promise<Incident[]>;
  forget(): Promise<void>;
}

/** The most incidents kept per model. */
const INCIDENTS_OF_MODEL_MAX = 200;

export function openModelAvailability({ pool, everyMs }: { pool: pg.Pool; everyMs: number }): ModelAvailability {
  return {
    sample: (seen, at) =>
      queryOne(
        pool,
        Sampled,
        `select availability_sample($1::timestamptz, $2::int, $3::text::text[], $4::text::boolean[], $5::text::int[],
                                    $6::text::int[]) as "isFirst",
                1000 * ($2 - mod(extract(epoch from coalesce($1, clock_timestamp())), $2))::float8 as "nextInMs"`,
        [
          at ?? null,
          everyMs / 1000,
          formatTextArray(seen.map(({ model }) => model)),
          formatUnquotedArray(seen.map(({ nodes }) => nodes > 0)),
          formatUnquotedArray(seen.map(({ slots }) => slots)),
          formatUnquotedArray(seen.map(({ busy }) => busy)),
        ],
      ),
    sums: ({ slotMs, from, to }, model) =>
      queryRows(
        pool,
        Sum,
        `select date_bin(make_interval(secs => $1), hour, timestamptz '2000-01-01 00:00Z') as slot, model,
                sum(samples)::float8 as samples, sum(up)::float8 as up
           from model_hour where hour >= $2 and hour < $3 and ($4::text is null or model = $4) group by 1, 2 order by 1, 2`,
        [slotMs / 1000, from, to, model ?? null],
      ),
    incidents: ({ from, limit, model }) =>
      queryRows(
        pool,
        Incident,
        `select model, kind, began_at as "beganAt", ended_at as "endedAt" from incident
          where (ended_at is null or ended_at > $1) and ($2::text is null or model = $2)
          order by began_at desc, id desc limit $3`,
        [from, model ?? null, limit],
      ),
    async forget() {
      await pool.query("delete from model_minute where slot < now() - interval '2 days'");
      await pool.query("delete from model_hour where hour < now() - interval '100 days'");
      await pool.query(
        `delete from incident i using (
           select id, ended_at, row_number() over (partition by model order by began_at desc, id desc) as place from incident
         ) old
          where i.id = old.id and old.ended_at is not null and (old.ended_at < now() - interval '100 days' or old.place > $1)`,
        [INCIDENTS_OF_MODEL_MAX],
      );
    },
  };
}
