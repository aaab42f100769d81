/** Charts of a model's availability, time to first token and speed over the chosen range. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { ModelPerformance } from "../../api/answer-types.ts";
import { modelPerformanceQuery } from "../../data/live-models.ts";
import { BUCKETED_RANGES, RANGE_TEXTS } from "../../time-range.ts";
import { Card, Stat, StatGrid } from "../../ui/card.tsx";
import { Chart } from "../../ui/chart/chart.tsx";
import type { ChartRow, PreviousPeriod } from "../../ui/chart/chart-data.ts";
import { usePreviousPeriod } from "../../ui/chart/use-previous-period.ts";
import { LoadedQuery, Skeleton } from "../../ui/loading-states.tsx";
import { RangeChoice, useRange } from "../../ui/range-choice.tsx";
import { DurationText, formatCount } from "../../ui/time-text.tsx";
import { availabilityBars, firstTokenLines, percentText, speedLines } from "./model-history-charts.ts";

export function ModelHistory({ id, isEmbedding }: { id: string; isEmbedding: boolean }) {
  const [range, setRange] = useRange(BUCKETED_RANGES, "24h");
  const performance = useQuery(modelPerformanceQuery(id, range));
  const words = RANGE_TEXTS[range];
  const end = performance.data?.points[0]?.at;
  const comparison = usePreviousPeriod(range, end !== undefined);
  const before = useQuery({ ...modelPerformanceQuery(id, range, String(end)), ...comparison.query });
  const beforeOf = (chartOf: (past: ModelPerformance) => { rows: ChartRow[] }): PreviousPeriod =>
    comparison.of(before.data && chartOf(before.data).rows, before.error);
  return (
    <Card
      title="Availability and speed"
      aside={<RangeChoice range={range} choices={BUCKETED_RANGES} onChange={setRange} />}
    >
      <LoadedQuery query={performance} loading={<Skeleton className="h-96 w-full" />}>
        {(found) => (
          <div className="flex flex-col gap-6">
            <Totals {...found} isEmbedding={isEmbedding} />
            <Course title="Availability">
              <Chart
                title={`Availability in ${words}`}
                height={130}
                {...availabilityBars(found)}
                before={beforeOf(availabilityBars)}
              />
            </Course>
            {!isEmbedding && (
              <div className="grid grid-cols-1 gap-6 lg:grid-cols-2">
                <Course title="Time to first token">
                  <Chart
                    kind="lines"
                    title={`Time to first token in ${words}`}
                    {...firstTokenLines(found)}
                    before={beforeOf(firstTokenLines)}
                  />
                </Course>
                <Course title="Tokens per second">
                  <Chart
                    kind="lines"
                    title={`Tokens per second in ${words}`}
                    {...speedLines(found)}
                    before={beforeOf(speedLines)}
                  />
                </Course>
              </div>
            )}
          </div>
        )}
      </LoadedQuery>
    </Card>
  );
}

const Course = ({ title, children }: { title: string; children: ReactNode }) => (
  <div className="min-w-0">
    <h3 className="mb-2 text-ink-soft">{title}</h3>
    {children}
  </div>
);

function Totals({ total, isEmbedding }: ModelPerformance & { isEmbedding: boolean }) {
  return (
    <StatGrid label="Whole period">
      <Stat label="Available">{percentText(total.availability)}</Stat>
      {!isEmbedding && (
        <Stat
          label="First token, p50"
          note={
            <>
              p95 <DurationText ms={total.ttft_p95_ms} />
            </>
          }
        >
          <DurationText ms={total.ttft_p50_ms} />
        </Stat>
      )}
      {!isEmbedding && (
        <Stat label="Tokens per second">
          {total.tokens_per_second === null ? "–" : formatCount(Math.round(total.tokens_per_second))}
        </Stat>
      )}
      <Stat label="Failed requests" note={total.failed_share === null ? "Shown from 20 requests" : undefined}>
        {percentText(total.failed_share, 1)}
      </Stat>
    </StatGrid>
  );
}
