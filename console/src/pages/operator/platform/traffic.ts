/** From the hourly traffic to charts: requests by how they ended, tokens, and what was charged. Pure. */
import type { TrafficHour } from "../../../api/types.ts";
import { parseMicro } from "../../../money.ts";
import { startOfUtcDay } from "../../../time.ts";
import type { Span } from "../../../time-range.ts";
import type { ChartRow, Series } from "../../../ui/chart/chart-data.ts";
import type { Amount } from "../../../ui/chart/stacked.ts";

const bucketOf = ({ by }: Span, hour: number): number =>
  by === "hour" ? hour * 1000 : startOfUtcDay(hour * 1000).getTime();

/** How requests ended, in four groups: an operator acts on each in another way. */
const PLATFORM = new Set(["no_capacity", "plane_lost", "gateway_stopped", "gateway_lost"]);
const GROUPS: { name: string; colour: number; has: (outcome: string) => boolean }[] = [
  { name: "Completed", colour: 1, has: (outcome) => outcome === "ok" || outcome === "client_closed" },
  { name: "Failed on a node", colour: 6, has: (outcome) => outcome.startsWith("upstream_") },
  { name: "No capacity", colour: 3, has: (outcome) => PLATFORM.has(outcome) },
  { name: "Rate-limited", colour: 7, has: () => true },
];

export const groupOf = (outcome: string): string => GROUPS.find(({ has }) => has(outcome))?.name ?? "";

interface Bars {
  series: Series[];
  rows: ChartRow[];
}

export function requestBars(traffic: TrafficHour[], span: Span, labelOf: (bucket: number) => string): Bars {
  const sums = new Map<string, number>();
  for (const row of traffic) {
    const at = `${bucketOf(span, row.hour)} ${groupOf(row.outcome)}`;
    sums.set(at, (sums.get(at) ?? 0) + row.requests);
  }
  const seen = new Set(traffic.map(({ outcome }) => groupOf(outcome)));
  const series = GROUPS.filter(({ name }) => seen.has(name)).map(({ name, colour }) => ({ name, colour }));
  return {
    series,
    rows: span.starts.map((start) => ({
      label: labelOf(start.getTime()),
      at: start.getTime(),
      values: Object.fromEntries(series.map(({ name }) => [name, sums.get(`${start.getTime()} ${name}`) ?? 0])),
    })),
  };
}

const TOKENS = [
  { name: "Prompt", colour: 1, of: ({ prompt_tokens }: TrafficHour) => prompt_tokens },
  { name: "Output", colour: 2, of: ({ completion_tokens }: TrafficHour) => completion_tokens },
];

export const tokensOf = ({ prompt_tokens, completion_tokens }: TrafficHour): number =>
  prompt_tokens + completion_tokens;

export function tokenBars(traffic: TrafficHour[], span: Span, labelOf: (bucket: number) => string): Bars {
  const rowsOf = Map.groupBy(traffic, ({ hour }) => bucketOf(span, hour));
  return {
    series: TOKENS.map(({ name, colour }) => ({ name, colour })),
    rows: span.starts.map((start) => ({
      label: labelOf(start.getTime()),
      at: start.getTime(),
      values: Object.fromEntries(
        TOKENS.map(({ name, of }) => [
          name,
          (rowsOf.get(start.getTime()) ?? []).reduce((sum, row) => sum + of(row), 0),
        ]),
      ),
    })),
  };
}

export const charges = (traffic: TrafficHour[], span: Span): Amount[] =>
  traffic.map(({ hour, charge_micro }) => ({
    bucket: String(bucketOf(span, hour)),
    part: "Charged",
    pico: parseMicro(charge_micro),
  }));
