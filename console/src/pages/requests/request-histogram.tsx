/**
 * A histogram of requests over time by outcome. Dragging over bars filters the list to their time span. Two sliders do
 * the same by keyboard.
 */
import { useQuery } from "@tanstack/react-query";
import { type PointerEvent, useState } from "react";
import type { RequestFilter, RequestHistogram } from "../../api/answer-types.ts";
import { errorMessage } from "../../api/api-fault.ts";
import { requestHistogramQuery } from "../../data/requests.ts";
import { formatWholeNumber, readOwnTimeZone } from "../../locale.ts";
import { describeOutcome } from "../../requests/outcome-names.ts";
import { Button } from "../../ui/button.tsx";
import { joinClasses } from "../../ui/join-classes.ts";
import { Skeleton } from "../../ui/loading-states.tsx";
import {
  type BarSelection,
  bucketLengthText,
  buildBars,
  buildStackPaths,
  computeSelectedSpan,
  countRequestsByOutcome,
  findBarIndex,
  findSelectionEdges,
  formatBucketStart,
  type HistogramBar,
  STACK_ORDER,
} from "./histogram-data.ts";

const FILLS = { good: "fill-chart-1", neutral: "fill-chart-7", warn: "fill-chart-3", bad: "fill-chart-6" };
const DOTS = { good: "bg-chart-1", neutral: "bg-chart-7", warn: "bg-chart-3", bad: "bg-chart-6", accent: "bg-chart-7" };
const SHOWN_OUTCOMES = 6;

interface Props {
  filter: RequestFilter;
  enabled: boolean;
  onNarrow: (span: { from: string; to: string }) => void;
  onOutcome: (outcome: string) => void;
}

/** Draws the histogram. Its height is constant, so that content below does not move when data arrives. */
export function RequestHistogramChart({ filter, enabled, onNarrow, onOutcome }: Props) {
  const { data, error } = useQuery({ ...requestHistogramQuery(filter), enabled });
  return (
    <section aria-label="Requests over time" className="h-[11.5rem] border-b border-line px-4 pt-3 sm:px-5">
      {data !== undefined ? (
        <Drawn key={`${data.from} ${data.bucket_s}`} histogram={data} onNarrow={onNarrow} onOutcome={onOutcome} />
      ) : error !== null ? (
        <p className="flex h-full items-center justify-center text-center text-ink-soft">{errorMessage(error)}</p>
      ) : (
        <Skeleton className="h-20 w-full" />
      )}
    </section>
  );
}

type DrawnProps = Pick<Props, "onNarrow" | "onOutcome"> & { histogram: RequestHistogram };

function Drawn({ histogram, onNarrow, onOutcome }: DrawnProps) {
  const bars = buildBars(histogram);
  const [choice, setChoice] = useState<BarSelection>();
  const [pointed, setPointed] = useState<number>();
  const narrow = (chosen: BarSelection): void => {
    setChoice(undefined);
    onNarrow(computeSelectedSpan(histogram, bars, chosen));
  };
  const { bucket_s: bucketS } = histogram;
  const total = bars.reduce((sum, one) => sum + one.total, 0);
  return (
    <>
      <Plot {...{ bars, choice, total }} onChoose={setChoice} onDone={narrow} onPoint={setPointed} />
      <Ends {...{ bars, choice, bucketS }} onChoose={setChoice} onDone={narrow} />
      <div className="mt-1 flex h-6 items-center justify-between gap-3 text-xs text-ink-soft">
        {choice === undefined ? (
          <>
            <span>{formatBucketStart(bars[0]?.at ?? histogram.from, bucketS)}</span>
            <span className="truncate text-center" role="presentation">
              {pointed === undefined || bars[pointed] === undefined
                ? `${bucketLengthText(bucketS)} a bar, ${bucketS >= 86_400 ? "UTC" : readOwnTimeZone()}`
                : `${formatBucketStart(bars[pointed].at, bucketS)}: ${formatWholeNumber(bars[pointed].total)}`}
            </span>
            <span>{histogram.to > Date.now() / 1000 - bucketS ? "now" : formatBucketStart(histogram.to, bucketS)}</span>
          </>
        ) : (
          <Chosen {...{ bars, choice, bucketS }} onDone={narrow} onCancel={() => setChoice(undefined)} />
        )}
      </div>
      <Legend {...{ histogram }} onOutcome={onOutcome} />
    </>
  );
}

interface PlotProps {
  bars: HistogramBar[];
  choice: BarSelection | undefined;
  total: number;
  onChoose: (choice: BarSelection | undefined) => void;
  onDone: (choice: BarSelection) => void;
  onPoint: (bar: number | undefined) => void;
}

function Plot({ bars, choice, total, onChoose, onDone, onPoint }: PlotProps) {
  const paths = buildStackPaths(bars);
  const [dragging, setDragging] = useState(false);
  const barOf = ({ currentTarget, clientX }: PointerEvent): number => {
    const { left, width } = currentTarget.getBoundingClientRect();
    return findBarIndex((clientX - left) / width, bars.length);
  };
  const [first, last] = choice === undefined ? [0, -1] : findSelectionEdges(choice);
  return (
    <svg
      role="img"
      aria-label={`${formatWholeNumber(total)} requests in ${bars.length} bars`}
      viewBox={`0 0 ${Math.max(1, bars.length)} 1`}
      preserveAspectRatio="none"
      className="h-20 w-full cursor-crosshair touch-pan-y select-none"
      onPointerDown={(event) => {
        if (event.button !== 0 || bars.length === 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        setDragging(true);
        onChoose({ anchor: barOf(event), focus: barOf(event) });
      }}
      onPointerMove={(event) => {
        if (dragging && choice !== undefined) onChoose({ ...choice, focus: barOf(event) });
        else onPoint(barOf(event));
      }}
      onPointerLeave={() => onPoint(undefined)}
      onPointerUp={() => {
        setDragging(false);
        if (dragging && choice !== undefined) onDone(choice);
      }}
      onPointerCancel={() => {
        setDragging(false);
        onChoose(undefined);
      }}
    >
      <rect width={Math.max(1, bars.length)} height="1" className="fill-sunken/50" />
      {last >= first && <rect x={first} width={last - first + 1} height="1" className="fill-accent-soft" />}
      {STACK_ORDER.map((tone) => (
        <path key={tone} d={paths[tone]} className={FILLS[tone]} />
      ))}
    </svg>
  );
}

type EndsProps = Pick<PlotProps, "bars" | "choice" | "onChoose" | "onDone"> & { bucketS: number };

const SLIDER =
  "pointer-events-none absolute inset-x-0 top-0 h-4 w-full appearance-none bg-transparent [&::-moz-range-thumb]:pointer-events-auto [&::-moz-range-thumb]:size-3 [&::-moz-range-thumb]:rounded-full [&::-moz-range-thumb]:border-0 [&::-moz-range-thumb]:bg-accent [&::-webkit-slider-thumb]:pointer-events-auto [&::-webkit-slider-thumb]:size-3 [&::-webkit-slider-thumb]:cursor-ew-resize [&::-webkit-slider-thumb]:appearance-none [&::-webkit-slider-thumb]:rounded-full [&::-webkit-slider-thumb]:bg-accent";

/** Two sliders for the ends of the selection. Arrow keys move an end by one bar, Enter applies the selection. */
function Ends({ bars, choice, bucketS, onChoose, onDone }: EndsProps) {
  if (bars.length < 2) return <div className="h-4" />;
  const [first, last] = choice === undefined ? [0, bars.length - 1] : findSelectionEdges(choice);
  const slider = (label: string, value: number, move: (to: number) => BarSelection) => (
    <input
      type="range"
      aria-label={label}
      aria-valuetext={formatBucketStart((bars[value]?.at ?? 0) + (label === "End" ? bucketS : 0), bucketS)}
      min={0}
      max={bars.length - 1}
      value={value}
      className={SLIDER}
      onChange={({ target }) => onChoose(move(Number(target.value)))}
      onKeyDown={(event) => {
        if (choice === undefined) return;
        if (event.key === "Enter") onDone(choice);
        if (event.key === "Escape") onChoose(undefined);
      }}
    />
  );
  return (
    <div className="relative h-4 before:absolute before:inset-x-0 before:top-[7px] before:h-0.5 before:rounded-full before:bg-line">
      {slider("Start", first, (to) => ({ anchor: Math.min(to, last), focus: last }))}
      {slider("End", last, (to) => ({ anchor: first, focus: Math.max(to, first) }))}
    </div>
  );
}

interface ChosenProps extends Pick<PlotProps, "bars" | "onDone"> {
  choice: BarSelection;
  bucketS: number;
  onCancel: () => void;
}

function Chosen({ bars, choice, bucketS, onDone, onCancel }: ChosenProps) {
  const [first, last] = findSelectionEdges(choice);
  const total = bars.slice(first, last + 1).reduce((sum, one) => sum + one.total, 0);
  return (
    <>
      <span className="min-w-0 truncate" role="status">
        {formatBucketStart(bars[first]?.at ?? 0, bucketS)} –{" "}
        {formatBucketStart((bars[last]?.at ?? 0) + bucketS, bucketS)}: {formatWholeNumber(total)}
      </span>
      <span className="flex shrink-0 gap-1">
        <Button size="small" className="h-6" onClick={() => onDone(choice)}>
          Show
        </Button>
        <Button size="small" look="quiet" className="h-6" onClick={onCancel}>
          Cancel
        </Button>
      </span>
    </>
  );
}

/** The legend: each color's outcome with its count. A click filters the list by that outcome. */
function Legend({ histogram, onOutcome }: Pick<DrawnProps, "histogram" | "onOutcome">) {
  const counts = countRequestsByOutcome(histogram);
  return (
    <ul aria-label="Requests by outcome" className="mt-0.5 flex h-6 gap-1 overflow-x-auto text-xs whitespace-nowrap">
      {counts.slice(0, SHOWN_OUTCOMES).map(({ outcome, requests }) => (
        <li key={outcome}>
          <button
            type="button"
            title={`Only ${outcome}: ${describeOutcome(outcome).says}`}
            className="flex items-center gap-1.5 rounded-sm px-1.5 py-0.5 hover:bg-sunken"
            onClick={() => onOutcome(outcome)}
          >
            <span aria-hidden className={joinClasses("size-2 rounded-full", DOTS[describeOutcome(outcome).tone])} />
            {outcome} <span className="text-ink-soft">{formatWholeNumber(requests)}</span>
          </button>
        </li>
      ))}
      {counts.length > SHOWN_OUTCOMES && (
        <li className="px-1.5 py-0.5 text-ink-soft">{counts.length - SHOWN_OUTCOMES} more</li>
      )}
    </ul>
  );
}
