/** Charts of a node over time: utilization, requests, earnings, failures and speed. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { NodeActivity as Insight } from "../../../api/answer-types.ts";
import { nodeActivityQuery } from "../../../data/host-nodes-and-tokens.ts";
import { formatWholeNumber } from "../../../locale.ts";
import { RANGE_TEXTS, TIME_RANGES } from "../../../time-range.ts";
import { Card, Stat, StatGrid } from "../../../ui/card.tsx";
import { Chart } from "../../../ui/chart/chart.tsx";
import type { ChartProps, ChartRow, PreviousPeriod } from "../../../ui/chart/chart-data.ts";
import { formatDurationTick, formatMoneyTick } from "../../../ui/chart/tick-labels.ts";
import { usePreviousPeriod } from "../../../ui/chart/use-previous-period.ts";
import { LoadedQuery, Skeleton } from "../../../ui/loading-states.tsx";
import { MoneyText } from "../../../ui/money-text.tsx";
import { RangeChoice, useRange } from "../../../ui/range-choice.tsx";
import { CountText, DurationText } from "../../../ui/time-text.tsx";
import {
  type ChartLines,
  EARNED_SERIES,
  formatMeasuredShare,
  formatPercentTick,
  toEarningRows,
  toLineRows,
} from "./activity-charts.ts";

const HEIGHT = 170;

interface CourseChart extends Pick<ChartProps, "kind" | "format" | "unit" | "whole"> {
  title: string;
  note: string;
  /** The chart's full title, if it differs from the visible one. */
  sentence?: string;
  lines: ChartLines;
}

const CHARTS: CourseChart[] = [
  {
    title: "Utilisation",
    note: "Share of the time that the node's slots were busy while it was connected.",
    kind: "lines",
    format: formatPercentTick,
    unit: "share",
    lines: [{ name: "Utilisation", colour: 1, of: ({ utilisation }) => utilisation }],
  },
  {
    title: "Requests",
    note: "Requests by start time. Client disconnects do not count as failures.",
    whole: true,
    format: formatWholeNumber,
    unit: "requests",
    lines: [
      { name: "Completed", colour: 1, of: ({ ok }) => ok },
      { name: "Client disconnected", colour: 7, of: ({ closed }) => closed },
      { name: "Failed", colour: 6, of: ({ failed }) => failed },
    ],
  },
  {
    title: "Tokens",
    note: "Prompt tokens (in) and output tokens (out).",
    whole: true,
    format: formatWholeNumber,
    unit: "tokens",
    lines: [
      { name: "In", colour: 3, of: ({ prompt_tokens }) => prompt_tokens },
      { name: "Out", colour: 1, of: ({ completion_tokens }) => completion_tokens },
    ],
  },
  {
    title: "Time to first token",
    note: "Measured for completed requests. Includes the wait for a node.",
    kind: "lines",
    format: formatDurationTick,
    unit: "ms",
    lines: [
      { name: "p50", colour: 1, of: ({ ttft_p50_ms }) => ttft_p50_ms },
      { name: "p95", colour: 3, of: ({ ttft_p95_ms }) => ttft_p95_ms },
    ],
  },
  {
    title: "Failures",
    sentence: "Share of requests that failed",
    note: "Share of requests that failed for any reason, excluding client disconnects.",
    kind: "lines",
    format: formatPercentTick,
    unit: "share",
    lines: [{ name: "Failed", colour: 6, of: ({ failed_share }) => failed_share }],
  },
];

export function NodeActivityCharts({ id }: { id: string }) {
  const [range, setRange] = useRange(TIME_RANGES, "24h");
  const insight = useQuery(nodeActivityQuery(id, range));
  const words = RANGE_TEXTS[range];
  const end = insight.data?.range === range ? insight.data.from : undefined;
  const comparison = usePreviousPeriod(range, end !== undefined);
  const before = useQuery({ ...nodeActivityQuery(id, range, String(end)), ...comparison.query });
  const beforeOf = (rowsOf: (past: Insight) => ChartRow[]): PreviousPeriod =>
    comparison.of(before.data && rowsOf(before.data), before.error);
  return (
    <section aria-label="Activity" className="flex flex-col gap-5">
      <header className="flex flex-wrap items-center justify-between gap-3">
        <h2 className="text-base font-semibold">Activity</h2>
        <RangeChoice range={range} choices={TIME_RANGES} onChange={setRange} />
      </header>
      <LoadedQuery query={insight} loading={<Skeleton className="h-96 w-full" />}>
        {(found) => (
          <>
            <Totals insight={found} words={words} />
            <div className="grid grid-cols-1 gap-5 lg:grid-cols-2">
              {CHARTS.map(({ title, note, sentence = title, lines, ...chart }) => (
                <Course key={title} title={title} note={note}>
                  <Chart
                    title={`${sentence} in ${words}`}
                    height={HEIGHT}
                    {...chart}
                    series={lines}
                    rows={toLineRows(found, lines)}
                    before={beforeOf((past) => toLineRows(past, lines))}
                  />
                </Course>
              ))}
              <Course
                title="Earned"
                note="Totals per hour. The first hour is counted in full, even if the period begins within it."
              >
                <Chart
                  title={`Earned in ${words}`}
                  height={HEIGHT}
                  format={formatMoneyTick}
                  unit="USD"
                  series={EARNED_SERIES}
                  rows={toEarningRows(found)}
                  before={beforeOf(toEarningRows)}
                />
              </Course>
            </div>
          </>
        )}
      </LoadedQuery>
    </section>
  );
}

const Course = ({ title, note, children }: { title: string; note: string; children: ReactNode }) => (
  <Card title={title}>
    <p className="mb-3 text-xs text-ink-soft">{note}</p>
    {children}
  </Card>
);

function Totals({ insight: { total }, words }: { insight: Insight; words: string }) {
  return (
    <StatGrid label={`In ${words}`}>
      <Stat label="Utilisation" note={`Connected ${formatMeasuredShare(total.connected)} of the time`}>
        {formatMeasuredShare(total.utilisation)}
      </Stat>
      <Stat
        label="Requests"
        note={
          <>
            <CountText of={total.prompt_tokens} /> tokens in, <CountText of={total.completion_tokens} /> out
          </>
        }
      >
        <CountText of={total.requests} />
      </Stat>
      <Stat label="Earned" note="In whole hours">
        <MoneyText of={total.earned_micro} as="balance" />
      </Stat>
      <Stat label="Failed" note={`${formatMeasuredShare(total.failed_share)}, excluding disconnects`}>
        <CountText of={total.failed} />
      </Stat>
      <Stat
        label="First token"
        note={
          <>
            p95 <DurationText ms={total.ttft_p95_ms} />
            {total.tps !== null && `, ${formatWholeNumber(Math.round(total.tps))} tokens/s`}
          </>
        }
      >
        <DurationText ms={total.ttft_p50_ms} />
      </Stat>
    </StatGrid>
  );
}
