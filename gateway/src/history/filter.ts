/** What narrows the history down, its list as its sums. */
import type { Uuid } from "../base/ids.ts";
import type { RequestOutcome } from "../base/states.ts";

/** What records are compared by: `tokens` are prompt and output together. */
const MEASURES = ["cost", "tokens", "ttft", "duration"] as const;
type Measure = (typeof MEASURES)[number];

/** Both ends belong to it. */
export interface Bounds {
  min?: bigint | undefined;
  max?: bigint | undefined;
}

export interface Filter {
  /** Requests of any of these; `not…`: of none of these. */
  models?: string[] | undefined;
  notModels?: string[] | undefined;
  keyIds?: Uuid[] | undefined;
  notKeyIds?: Uuid[] | undefined;
  outcomes?: RequestOutcome[] | undefined;
  label?: string | undefined;
  notLabel?: string | undefined;
  measures?: { [measure in Measure]?: Bounds | undefined } | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
}

/** Puts a value among a query's values; gives its place: `$6`. */
export type Bind = (value: unknown) => string;
export const binderOf =
  (values: unknown[]): Bind =>
  (value) =>
    `$${values.push(value)}`;

/** In SQL: a measure of a record. */
export const MEASURED: Record<Measure, string> = {
  cost: "charge_pico",
  tokens: "(prompt_tokens + completion_tokens)",
  ttft: "ttft_ms",
  duration: "duration_ms",
};

/** Whether the filter names anything that the hourly rollups know, too. */
export const isNamed = ({ models, notModels, keyIds, notKeyIds, outcomes }: Filter): boolean =>
  [models, notModels, keyIds, notKeyIds, outcomes].some((values) => values !== undefined);

/** Whether it compares what no rollup knows, so that records have to be searched; an index has `cost`, where that is the order. */
export const isSearched = ({ notLabel, measures = {} }: Filter, served: readonly Measure[] = []): boolean =>
  notLabel !== undefined || MEASURES.some((measure) => measures[measure] !== undefined && !served.includes(measure));

/** In SQL: the part of a filter that rollups know as well as records. A rollup has '' where a record has no model. */
export function named({ models, notModels, keyIds, notKeyIds, outcomes }: Filter, bind: Bind): string {
  return every([
    models && `model = any (${bind(models)}::text[])`,
    notModels && `coalesce(model, '') <> all (${bind(notModels)}::text[])`,
    keyIds && `key_id = any (${bind(keyIds)}::uuid[])`,
    notKeyIds && `key_id <> all (${bind(notKeyIds)}::uuid[])`,
    outcomes && `outcome = any (${bind(outcomes)}::text[])`,
  ]);
}

/** In SQL: the part that records alone know. A request without a measure, such as one without a first token, is on neither side of it. */
export function recorded({ label, notLabel, measures = {} }: Filter, bind: Bind): string {
  return every([
    label !== undefined && `label = ${bind(label)}::text`,
    notLabel !== undefined && `label is distinct from ${bind(notLabel)}::text`,
    ...MEASURES.flatMap((measure) => [
      measures[measure]?.min !== undefined && `${MEASURED[measure]} >= ${bind(measures[measure].min)}::bigint`,
      measures[measure]?.max !== undefined && `${MEASURED[measure]} <= ${bind(measures[measure].max)}::bigint`,
    ]),
  ]);
}

const every = (conditions: (string | false | undefined)[]): string =>
  conditions.filter((one) => typeof one === "string").join(" and ") || "true";
