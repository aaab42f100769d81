/**
 * Draws a chart as SVG in the theme's colors; docs/decisions/console-in-react.md explains why this is hand-written. The static
 * part (`Still`) is drawn again only when rows, series or size change, not when the pointer moves.
 */
import { memo, useLayoutEffect, useMemo, useRef, useState } from "react";
import { type ChartKind, type ChartProps, type DrawingInput, sumRows, sumVisibleValues } from "./chart-data.ts";
import { ChartShapes } from "./chart-shapes.tsx";
import { ChartTooltip } from "./chart-tooltip.tsx";
import { computeRowMiddles, computeVerticalPosition, computeWidthPerRow, type PlotArea } from "./geometry.ts";
import { useRowSelection } from "./row-selection.ts";
import { makeTimeTicks, valueTicks } from "./ticks.ts";
import type { VisibleRows, ZoomedTimes } from "./zoom.ts";

const TOP = 8;
/** The right margin: half the width of an axis label such as "Nov 16". */
const RIGHT = 24;
/** The height of the labels below the axis. */
const BOTTOM = 30;
const AXIS_GAP = 14;
/** The approximate width of a character in the font of axis labels, in pixels. */
const CHARACTER_WIDTH = 6.5;
const TICK = { fill: "var(--ink-soft)", fontSize: 11 };
/** The minimum width of a label below the axis, in pixels. */
const MARK_WIDTH = 72;

const ZOOM_KEYS = "Use the arrow keys to read values, plus and minus to zoom, and 0 to show everything.";
const NARROW_KEYS =
  "Use the arrow keys to read values. Hold Shift to select a time span, and press Enter to show only its requests.";

interface Props extends DrawingInput, Pick<ChartProps, "onNarrow"> {
  title: string;
  adds: boolean;
  describedBy: string;
  beforeWords: string | undefined;
  /** The times of all rows. `rows` contains only those that the zoom shows. */
  moments: number[];
  view: VisibleRows;
  onZoom: (zoom: ZoomedTimes | undefined) => void;
}

export function ChartDrawing({
  title,
  adds,
  describedBy,
  beforeWords,
  moments,
  view,
  onZoom,
  onNarrow,
  ...drawn
}: Props) {
  const { series, rows, kind, format, height, hidden, earlier } = drawn;
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  const { plot, ticks } = usePlot(drawn, width);
  const middles = useMemo(() => computeRowMiddles(plot, rows.length, kind), [plot, rows.length, kind]);
  const { at, dragged, handlers } = useRowSelection({ moments, view, middles, onZoom, onNarrow });
  const selects = onNarrow !== undefined && at !== undefined && dragged !== undefined && dragged !== at;
  const row = selects
    ? sumRows(rows.slice(Math.min(at, dragged), Math.max(at, dragged) + 1))
    : at === undefined
      ? undefined
      : rows[at];
  return (
    <div ref={frame} className="relative" style={{ height }}>
      {width > 0 && (
        <svg
          role="application"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: keys read its values and zoom
          tabIndex={0}
          aria-label={`${title}. ${onNarrow === undefined ? ZOOM_KEYS : NARROW_KEYS}`}
          aria-describedby={describedBy}
          width={width}
          height={height}
          className="block cursor-crosshair touch-pan-y outline-none select-none"
          onDoubleClick={() => onZoom(undefined)}
          {...handlers}
        >
          <Cursor {...{ plot, kind, middles, at, dragged }} />
          <Still {...drawn} {...{ plot, ticks, middles, width }} />
        </svg>
      )}
      {row !== undefined && at !== undefined && (
        <ChartTooltip
          {...{ row, series, kind, adds, format, width, hidden }}
          x={middles[at] ?? 0}
          before={selects ? undefined : earlier?.[at]}
          beforeWords={beforeWords}
        />
      )}
    </div>
  );
}

/** Computes the plot area and the marks of its axes. */
function usePlot({ series, rows, earlier, kind, format, whole, height, hidden }: DrawingInput, width: number) {
  return useMemo(() => {
    const ticks = valueTicks(mostOf({ series, rows, earlier, kind, hidden }), { whole });
    const left = AXIS_GAP + CHARACTER_WIDTH * Math.max(...ticks.map((tick) => format(tick, ticks[1]).length));
    const room = { width: Math.max(1, width - left - RIGHT), height: height - TOP - BOTTOM };
    return { ticks, plot: { left, top: TOP, ...room, most: ticks.at(-1) ?? 1 } };
  }, [series, rows, earlier, kind, format, whole, height, hidden, width]);
}

/** The largest value that is drawn, from both periods. */
function mostOf({
  series,
  rows,
  earlier = [],
  kind,
  hidden,
}: Pick<DrawingInput, "series" | "rows" | "earlier" | "kind" | "hidden">) {
  let most = 0;
  for (const row of [...rows, ...earlier]) {
    if (kind === "bars") most = Math.max(most, sumVisibleValues(row, hidden));
    else for (const { name } of series) most = Math.max(most, row.values[name] ?? 0);
  }
  return most;
}

/** The element's width, measured before the first frame is drawn and after each change. */
function useWidth(of: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const { current } = of;
    if (current === null) return;
    const look = (): void => setWidth(current.clientWidth);
    look();
    const observer = new ResizeObserver(look);
    observer.observe(current);
    return () => observer.disconnect();
  }, [of]);
  return width;
}

interface CursorProps {
  plot: PlotArea;
  kind: ChartKind;
  middles: number[];
  at: number | undefined;
  /** The index of the row where a drag began. */
  dragged: number | undefined;
}

function Cursor({ plot, kind, middles, at, dragged }: CursorProps) {
  if (at === undefined) return null;
  const { top, height } = plot;
  const room = kind === "bars" ? computeWidthPerRow(plot, middles.length) : 0;
  const ends = [middles[at] ?? 0, middles[dragged ?? at] ?? 0];
  const [left, right] = [Math.min(...ends) - room / 2, Math.max(...ends) + room / 2];
  return (
    <g data-cursor>
      <rect x={left} y={top} width={right - left} height={height} fill="var(--sunken)" />
      {kind === "lines" && <line x1={ends[0]} x2={ends[0]} y1={top} y2={top + height} stroke="var(--line-strong)" />}
    </g>
  );
}

interface StillProps extends DrawingInput {
  plot: PlotArea;
  ticks: number[];
  middles: number[];
  width: number;
}

const Still = memo(function Still({ plot, ticks, middles, width, ...drawn }: StillProps) {
  const { rows, format, height } = drawn;
  const marks = makeTimeTicks(
    rows.map(({ at }) => at),
    Math.max(2, Math.floor(width / MARK_WIDTH)),
  );
  return (
    <>
      {ticks.map((tick) => (
        <g key={tick}>
          <line
            x1={plot.left}
            x2={width - RIGHT}
            y1={computeVerticalPosition(plot, tick)}
            y2={computeVerticalPosition(plot, tick)}
            stroke="var(--line)"
          />
          <text x={plot.left - 8} y={computeVerticalPosition(plot, tick)} dy="0.35em" textAnchor="end" {...TICK}>
            {format(tick, ticks[1])}
          </text>
        </g>
      ))}
      {marks.map((text, place) =>
        text === "" ? null : (
          <text key={rows[place]?.at} x={middles[place]} y={height - BOTTOM + 16} textAnchor="middle" {...TICK}>
            {text}
          </text>
        ),
      )}
      <ChartShapes plot={plot} {...drawn} />
    </>
  );
});
