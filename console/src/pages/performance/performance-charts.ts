/** Converts time slots of a performance response to chart rows: one per slot of the range, with gaps. Pure. */
import type { Performance } from "../../api/answer-types.ts";
import type { ChartRow } from "../../ui/chart/chart-data.ts";
import type { Percentiles } from "../../ui/chart/percentiles.ts";
import { formatBucketTick } from "../../ui/chart/tick-labels.ts";

type Point = Performance["series"][number];
type Answer = Pick<Performance, "from" | "to" | "slot_s" | "series">;

const NONE: Percentiles = { p50: null, p95: null, p99: null };
const DAY_S = 86_400;

/** The start of each slot in Unix seconds, with the response's figures for it. */
function slotsOf({ from, to, slot_s, series }: Answer): { at: number; point: Point | undefined }[] {
  const known = new Map(series.map((point) => [point.at, point]));
  return Array.from({ length: Math.round((to - from) / slot_s) }, (_, i) => {
    const at = from + i * slot_s;
    return { at, point: known.get(at) };
  });
}

export const listPercentilePoints = (
  answer: Answer,
  of: (point: Point) => Percentiles,
): (Percentiles & { at: number })[] =>
  slotsOf(answer).map(({ at, point }) => ({ at: at * 1000, ...(point === undefined ? NONE : of(point)) }));

/** The chart rows of a single line; null becomes a gap. */
export function lineRows(answer: Answer, name: string, of: (point: Point) => number | null): ChartRow[] {
  return slotsOf(answer).map(({ at, point }) => {
    const value = point === undefined ? null : of(point);
    return { label: slotText(answer, at), at: at * 1000, values: value === null ? {} : { [name]: value } };
  });
}

const slotText = ({ slot_s }: Answer, at: number): string =>
  formatBucketTick(slot_s >= DAY_S ? "day" : "hour", at * 1000);
