/**
 * A chart of requests over time by outcome. Selecting bars with the pointer or the keyboard filters the list to their
 * time span; a click on an outcome filters by it.
 */
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo } from "react";
import type { RequestFilter, RequestHistogram } from "../../api/answer-types.ts";
import { errorMessage } from "../../api/api-fault.ts";
import { requestHistogramQuery } from "../../data/requests.ts";
import { formatWholeNumber } from "../../locale.ts";
import { describeOutcome } from "../../requests/outcome-names.ts";
import { Chart } from "../../ui/chart/chart.tsx";
import { usePreviousPeriod } from "../../ui/chart/use-previous-period.ts";
import { DataAge, Skeleton } from "../../ui/loading-states.tsx";
import {
  bucketLengthText,
  computePreviousSpan,
  computeSelectedSpan,
  countRequestsByOutcome,
  outcomeColour,
  toHistogramChart,
  toPreviousRows,
} from "./histogram-data.ts";

const HEIGHT = 116;
const SHOWN_OUTCOMES = 6;

interface Props {
  filter: RequestFilter;
  enabled: boolean;
  onNarrow: (span: { from: string; to: string }) => void;
  onOutcome: (outcome: string) => void;
}

/** Shows the histogram. Its height is constant, so that content below does not move when data arrives. */
export function RequestHistogramChart({ filter, enabled, onNarrow, onOutcome }: Props) {
  const query = useQuery({ ...requestHistogramQuery(filter), enabled });
  const { data, error } = query;
  // The history has a beginning, so a list without one has no period before it.
  const past = data !== undefined && filter.from !== undefined ? computePreviousSpan(data) : undefined;
  const comparison = usePreviousPeriod(undefined, past !== undefined);
  const before = useQuery({ ...requestHistogramQuery({ ...filter, ...past }), ...comparison.query });
  const chart = useMemo(() => data && toHistogramChart(data), [data]);
  const earlier = useMemo(() => data && before.data && toPreviousRows(data, before.data), [data, before.data]);
  return (
    <section
      aria-label="Requests over time"
      className="h-48 border-b border-line px-4 pt-3 sm:px-5 2xl:h-44 [&_figure]:gap-1"
    >
      {data !== undefined && chart !== undefined ? (
        <Chart
          {...chart}
          title={`Requests per ${bucketLengthText(data.bucket_s)}`}
          format={formatWholeNumber}
          unit="requests"
          whole
          height={HEIGHT}
          onNarrow={(selected) => onNarrow(computeSelectedSpan(data, selected))}
          {...(past !== undefined && { before: comparison.of(earlier, before.error) })}
          legend={
            <Outcomes histogram={data} onOutcome={onOutcome}>
              <DataAge query={query} />
            </Outcomes>
          }
        />
      ) : error !== null ? (
        <p className="flex h-full items-center justify-center text-center text-ink-soft">{errorMessage(error)}</p>
      ) : (
        <Skeleton className="h-28 w-full" />
      )}
    </section>
  );
}

interface OutcomesProps extends Pick<Props, "onOutcome"> {
  histogram: RequestHistogram;
  children: ReactNode;
}

/** The legend: each color's outcome with its count. A click filters the list by that outcome. */
function Outcomes({ histogram, onOutcome, children }: OutcomesProps) {
  const counts = countRequestsByOutcome(histogram);
  return (
    <ul
      aria-label="Requests by outcome"
      className="flex h-6 min-w-0 basis-full items-center gap-1 overflow-x-auto mask-r-from-[calc(100%-1.5rem)] pr-4 whitespace-nowrap 2xl:flex-1 2xl:basis-0"
    >
      <li className="empty:hidden">{children}</li>
      <li>{`1 bar per ${bucketLengthText(histogram.bucket_s)}`}</li>
      {counts.slice(0, SHOWN_OUTCOMES).map(({ outcome, requests }) => (
        <li key={outcome}>
          <button
            type="button"
            title={`Only ${outcome}: ${describeOutcome(outcome).says}`}
            className="flex items-center gap-1.5 rounded-sm px-1.5 py-0.5 hover:bg-sunken"
            onClick={() => onOutcome(outcome)}
          >
            <span
              aria-hidden
              className="size-2 rounded-full"
              style={{ background: `var(--chart-${outcomeColour(outcome)})` }}
            />
            <span className="text-ink">{outcome}</span> {formatWholeNumber(requests)}
          </button>
        </li>
      ))}
      {counts.length > SHOWN_OUTCOMES && <li className="px-1.5 py-0.5">{counts.length - SHOWN_OUTCOMES} more</li>}
    </ul>
  );
}
