/** Filters of the request history, for lists and sums. */
import type { Uuid } from "../base/ids.ts";
import type { RequestOutcome } from "../base/stored-enumerations.ts";

/** Measures that a filter can limit to a range. `tokens`: the sum of prompt and output tokens. */
const MEASURES = ["cost", "tokens", "ttft", "duration"] as const;
type Measure = (typeof MEASURES)[number];

/** The limits of a measure, inclusive. */
export interface MeasureBounds {
  min?: bigint | undefined;
  max?: bigint | undefined;
}

export interface RequestFilter {
  /** Matches requests with any of these values. `not…`: requests with none of these values. */
  models?: string[] | undefined;
  notModels?: string[] | undefined;
  keyIds?: Uuid[] | undefined;
  notKeyIds?: Uuid[] | undefined;
  outcomes?: RequestOutcome[] | undefined;
  label?: string | undefined;
  notLabel?: string | undefined;
  measures?: { [measure in Measure]?: MeasureBounds | undefined } | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
}

/** Adds a query parameter and returns its placeholder, such as `$6`. */
export type BindParameter = (value: unknown) => string;
export const createParameterBinder =
  (values: unknown[]): BindParameter =>
  (value) =>
    `$${values.push(value)}`;

/** The SQL expression of each measure of a record. */
export const MEASURE_SQL: Record<Measure, string> = {
  cost: "charge_pico",
  tokens: "(prompt_tokens + completion_tokens)",
  ttft: "ttft_ms",
  duration: "duration_ms",
};

/** Whether the filter uses any column that the hourly rollups have too. */
export const usesRollupColumns = ({ models, notModels, keyIds, notKeyIds, outcomes }: RequestFilter): boolean =>
  [models, notModels, keyIds, notKeyIds, outcomes].some((values) => values !== undefined);

/**
 * Whether the filter uses a column that no rollup has, so that records must be searched. `served`: measures that an
 * index covers.
 */
export const needsRecordSearch = (
  { notLabel, measures = {} }: RequestFilter,
  served: readonly Measure[] = [],
): boolean =>
  notLabel !== undefined || MEASURES.some((measure) => measures[measure] !== undefined && !served.includes(measure));

/** The SQL condition for columns that rollups and records share. Rollups have '' for a missing model. */
export function buildRollupConditions(
  { models, notModels, keyIds, notKeyIds, outcomes }: RequestFilter,
  bind: BindParameter,
): string {
  return every([
    models && `model = any (${bind(models)}::text[])`,
    notModels && `coalesce(model, '') <> all (${bind(notModels)}::text[])`,
    keyIds && `key_id = any (${bind(keyIds)}::uuid[])`,
    notKeyIds && `key_id <> all (${bind(notKeyIds)}::uuid[])`,
    outcomes && `outcome = any (${bind(outcomes)}::text[])`,
  ]);
}

/**
 * Returns the SQL condition for columns that request records have but rollups lack. A request without a measure, such
 * as the time to the first token, meets no condition on that measure.
 */
export function buildRecordConditions({ label, notLabel, measures = {} }: RequestFilter, bind: BindParameter): string {
  return every([
    label !== undefined && `label = ${bind(label)}::text`,
    notLabel !== undefined && `label is distinct from ${bind(notLabel)}::text`,
    ...MEASURES.flatMap((measure) => [
      measures[measure]?.min !== undefined && `${MEASURE_SQL[measure]} >= ${bind(measures[measure].min)}::bigint`,
      measures[measure]?.max !== undefined && `${MEASURE_SQL[measure]} <= ${bind(measures[measure].max)}::bigint`,
    ]),
  ]);
}

const every = (conditions: (string | false | undefined)[]): string =>
  conditions.filter((one) => typeof one === "string").join(" and ") || "true";
