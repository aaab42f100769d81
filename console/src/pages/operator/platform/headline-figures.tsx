/** The platform's four main figures, each with a small chart. */
import { useQuery } from "@tanstack/react-query";
import type { PlatformPerformance } from "../../../api/answer-types.ts";
import { platformPerformanceQuery } from "../../../data/platform-overview.ts";
import { RANGE_TEXTS } from "../../../time-range.ts";
import { Card } from "../../../ui/card.tsx";
import { Chart } from "../../../ui/chart/chart.tsx";
import { usePreviousPeriod } from "../../../ui/chart/use-previous-period.ts";
import { formatCount } from "../../../ui/time-text.tsx";
import { listChartFigures, toFigureRows } from "./platform-charts.ts";

export function HeadlineFigures({ performance }: { performance: PlatformPerformance }) {
  const { total, range } = performance;
  const comparison = usePreviousPeriod(range);
  const before = useQuery({ ...platformPerformanceQuery(range, String(performance.from)), ...comparison.query });
  const notes = [
    `${formatCount(total.requests)} in ${RANGE_TEXTS[range]}`,
    `${formatCount(total.failed)} failed, excluding client disconnects`,
    "of successful requests",
    total.slots === null
      ? "not measured yet (once a minute)"
      : `${formatCount(total.slots)} ${total.slots === 1 ? "slot" : "slots"} on ${formatCount(total.nodes ?? 0)} ${total.nodes === 1 ? "node" : "nodes"} on average`,
  ];
  return (
    <div className="grid grid-cols-1 gap-5 sm:grid-cols-2 2xl:grid-cols-4">
      {listChartFigures(performance).map((figure, place) => {
        const value = figure.of(total);
        return (
          <Card key={figure.name} title={figure.name}>
            <p className="text-2xl font-semibold tracking-tight">{value === null ? "–" : figure.text(value)}</p>
            <p className="mt-1 mb-3 text-xs text-ink-soft">{notes[place]}</p>
            <Chart
              kind="lines"
              title={`${figure.name} in ${RANGE_TEXTS[range]}`}
              height={120}
              series={[{ name: figure.name, colour: figure.colour }]}
              rows={toFigureRows(performance, figure)}
              format={figure.text}
              unit={figure.unit}
              before={comparison.of(before.data && toFigureRows(before.data, figure), before.error)}
            />
          </Card>
        );
      })}
    </div>
  );
}
