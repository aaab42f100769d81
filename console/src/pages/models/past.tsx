/** How a model did: its availability, first token and speed over the chosen time. */
import { useQuery } from "@tanstack/react-query";
import type { ModelPerformance } from "../../api/types.ts";
import { modelPerformanceQuery } from "../../data/live-models.ts";
import { RANGE_WORDS, SUM_RANGES } from "../../time-range.ts";
import { Card, Stat, Stats } from "../../ui/card.tsx";
import { LineChart } from "../../ui/chart/line-chart.tsx";
import { classes } from "../../ui/classes.ts";
import { RangeChoice, useRange } from "../../ui/range-choice.tsx";
import { Loaded, Skeleton } from "../../ui/states.tsx";
import { count, Span } from "../../ui/time.tsx";
import { firstTokenLines, gapsText, levelOf, percentText, slotText, speedLines } from "./course.ts";

export function Past({ id, isEmbedding }: { id: string; isEmbedding: boolean }) {
  const [range, setRange] = useRange(SUM_RANGES, "24h");
  const performance = useQuery(modelPerformanceQuery(id, range));
  return (
    <Card title="Availability and speed" aside={<RangeChoice range={range} choices={SUM_RANGES} onChange={setRange} />}>
      <Loaded query={performance} loading={<Skeleton className="h-96 w-full" />}>
        {(found) => (
          <div className="flex flex-col gap-6">
            <Totals {...found} isEmbedding={isEmbedding} />
            <Strip {...found} />
            {!isEmbedding && (
              <div className="grid grid-cols-1 gap-6 lg:grid-cols-2">
                <div className="min-w-0">
                  <h3 className="mb-2 text-ink-soft">Time to first token</h3>
                  <LineChart title={`Time to first token in ${RANGE_WORDS[range]}`} {...firstTokenLines(found)} />
                </div>
                <div className="min-w-0">
                  <h3 className="mb-2 text-ink-soft">Tokens per second</h3>
                  <LineChart title={`Tokens per second in ${RANGE_WORDS[range]}`} {...speedLines(found)} />
                </div>
              </div>
            )}
          </div>
        )}
      </Loaded>
    </Card>
  );
}

function Totals({ total, isEmbedding }: ModelPerformance & { isEmbedding: boolean }) {
  return (
    <Stats label="Whole period">
      <Stat label="Available">{percentText(total.availability)}</Stat>
      {!isEmbedding && (
        <Stat
          label="First token, p50"
          note={
            <>
              p95 <Span ms={total.ttft_p95_ms} />
            </>
          }
        >
          <Span ms={total.ttft_p50_ms} />
        </Stat>
      )}
      {!isEmbedding && (
        <Stat label="Tokens per second">
          {total.tokens_per_second === null ? "–" : count(Math.round(total.tokens_per_second))}
        </Stat>
      )}
      <Stat label="Failed requests" note={total.failed_share === null ? "Shown from 20 requests" : undefined}>
        {percentText(total.failed_share, 1)}
      </Stat>
    </Stats>
  );
}

const LEVELS = {
  none: "h-2 bg-line",
  good: "h-full bg-good",
  fair: "h-3/4 bg-warn",
  bad: "h-1/2 bg-bad",
} as const;

/** So many bars on a telephone would be thinner than the gaps between them. */
const MANY = 100;

/** One bar for each hour or day; the worse, the shorter. */
function Strip(performance: ModelPerformance) {
  const { points, slot_seconds } = performance;
  return (
    <figure className="@container">
      <figcaption className="mb-2 text-ink-soft">Availability by {slot_seconds < 86_400 ? "hour" : "day"}</figcaption>
      <div
        role="img"
        aria-label={gapsText(performance)}
        className={classes("flex h-9 items-end", points.length > MANY ? "@2xl:gap-px" : "gap-px")}
      >
        {points.map((point) => (
          <span
            key={point.at}
            title={`${slotText(point, slot_seconds)}: ${point.availability === null ? "not measured" : percentText(point.availability)}`}
            className={`min-w-0 flex-1 ${LEVELS[levelOf(point.availability)]}`}
          />
        ))}
      </div>
      <div aria-hidden className="mt-1 flex justify-between text-xs text-ink-soft">
        <span>{points[0] && slotText(points[0], slot_seconds)}</span>
        <span>now</span>
      </div>
    </figure>
  );
}
