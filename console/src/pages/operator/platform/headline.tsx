/** The platform's four main figures, each with a small chart. */
import { useQuery } from "@tanstack/react-query";
import type { PlatformPerformance } from "../../../api/types.ts";
import { platformPerformanceQuery } from "../../../data/platform.ts";
import { RANGE_WORDS } from "../../../time-range.ts";
import { Card } from "../../../ui/card.tsx";
import { Chart } from "../../../ui/chart/chart.tsx";
import { useBefore } from "../../../ui/chart/use-before.ts";
import { count } from "../../../ui/time.tsx";
import { figuresOf, rowsOf } from "./platform-charts.ts";

export function Headline({ performance }: { performance: PlatformPerformance }) {
  const { total, range } = performance;
  const comparison = useBefore(range);
  const before = useQuery({ ...platformPerformanceQuery(range, String(performance.from)), ...comparison.query });
  const notes = [
    `${count(total.requests)} in ${RANGE_WORDS[range]}`,
    `${count(total.failed)} failed, excluding client disconnects`,
    "of successful requests",
    total.slots === null
      ? "not measured yet (once a minute)"
      : `${count(total.slots)} ${total.slots === 1 ? "slot" : "slots"} on ${count(total.nodes ?? 0)} ${total.nodes === 1 ? "node" : "nodes"} on average`,
  ];
  return (
    <div className="grid grid-cols-1 gap-5 sm:grid-cols-2 2xl:grid-cols-4">
      {figuresOf(performance).map((figure, place) => {
        const value = figure.of(total);
        return (
          <Card key={figure.name} title={figure.name}>
            <p className="text-2xl font-semibold tracking-tight">{value === null ? "–" : figure.text(value)}</p>
            <p className="mt-1 mb-3 text-xs text-ink-soft">{notes[place]}</p>
            <Chart
              kind="lines"
              title={`${figure.name} in ${RANGE_WORDS[range]}`}
              height={120}
              series={[{ name: figure.name, colour: figure.colour }]}
              rows={rowsOf(performance, figure)}
              format={figure.text}
              unit={figure.unit}
              before={comparison.of(before.data && rowsOf(before.data, figure), before.error)}
            />
          </Card>
        );
      })}
    </div>
  );
}
