/**
 * The drawing itself, as SVG in the theme's colours. It is our own because the first page shows one: a library for every kind of chart was
 * half of that page's scripts, and these are two kinds.
 */
import { type KeyboardEvent, type PointerEvent, useLayoutEffect, useRef, useState } from "react";
import type { ChartProps, ChartRow } from "./chart-data.ts";
import { barPaths, everyHowMany, levelOf, lineOfValues, middlesOf, nearest, type Plot, roomOf } from "./geometry.ts";
import { timeTicks, valueTicks } from "./ticks.ts";

const TOP = 8;
/** Half of a mark below the axis: "Nov 16". */
const RIGHT = 24;
/** For the marks below. */
const BOTTOM = 30;
const AXIS_GAP = 14;
/** Of the ticks' font, nearly. */
const CHARACTER_WIDTH = 6.5;
const TICK = { fill: "var(--ink-soft)", fontSize: 11 };
/** What a mark below the axis needs, where it is a time; other texts need this much between them. */
const MARK_WIDTH = 72;
const TEXT_GAP = 24;

export function Drawing({ title, series, rows, kind = "bars", format, whole = false, height = 240 }: ChartProps) {
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  const [at, setAt] = useState<number>();
  const most = Math.max(0, ...rows.map(kind === "bars" ? sumOf : largestOf));
  const ticks = valueTicks(most, { whole });
  const write = (value: number): string => format(value, ticks[1]);
  const left = AXIS_GAP + CHARACTER_WIDTH * Math.max(...ticks.map((tick) => write(tick).length));
  const plot: Plot = {
    left,
    top: TOP,
    width: Math.max(1, width - left - RIGHT),
    height: height - TOP - BOTTOM,
    most: ticks.at(-1) ?? 1,
  };
  const middles = middlesOf(plot, rows.length, kind);
  const shown = at === undefined ? undefined : rows[at];
  const move = ({ clientX, currentTarget }: PointerEvent<SVGSVGElement>): void => {
    if (rows.length > 0) setAt(nearest(middles, clientX - currentTarget.getBoundingClientRect().left));
  };
  const turn = (event: KeyboardEvent): void => {
    const next = NEXT[event.key]?.(at ?? 0, rows.length - 1);
    if (next === undefined) return;
    event.preventDefault();
    setAt(Math.min(Math.max(0, next), rows.length - 1));
  };
  return (
    <div ref={frame} className="relative" style={{ height }}>
      {width > 0 && (
        <svg
          role="application"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys read its values
          tabIndex={0}
          aria-label={`${title}. Use the arrow keys to move along it.`}
          width={width}
          height={height}
          className="block outline-none"
          onPointerMove={move}
          onPointerDown={move}
          onPointerLeave={() => setAt(undefined)}
          onFocus={() => setAt((now) => now ?? 0)}
          onBlur={() => setAt(undefined)}
          onKeyDown={turn}
        >
          <Cursor {...{ plot, kind }} middle={at === undefined ? undefined : middles[at]} rows={rows.length} />
          {ticks.map((tick) => (
            <g key={tick}>
              <line
                x1={left}
                x2={width - RIGHT}
                y1={levelOf(plot, tick)}
                y2={levelOf(plot, tick)}
                stroke="var(--line)"
              />
              <text x={left - 8} y={levelOf(plot, tick)} dy="0.35em" textAnchor="end" {...TICK}>
                {write(tick)}
              </text>
            </g>
          ))}
          <Marks {...{ plot, rows, middles, width }} y={height - BOTTOM + 16} />
          <Shapes {...{ plot, series, rows, kind }} />
        </svg>
      )}
      {shown !== undefined && at !== undefined && (
        <Hint row={shown} series={series} format={format} x={middles[at] ?? 0} width={width} />
      )}
    </div>
  );
}

const sumOf = ({ values }: ChartRow): number => Object.values(values).reduce((sum, value) => sum + value, 0);
const largestOf = ({ values }: ChartRow): number => Math.max(0, ...Object.values(values));

const NEXT: Record<string, (at: number, last: number) => number> = {
  ArrowLeft: (at) => at - 1,
  ArrowRight: (at) => at + 1,
  Home: () => 0,
  End: (_at, last) => last,
};

/** Before the first frame is drawn, and whenever it changes. */
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
  plot: Plot;
  kind: "bars" | "lines";
  middle: number | undefined;
  rows: number;
}

function Cursor({ plot, kind, middle, rows }: CursorProps) {
  if (middle === undefined) return null;
  const { top, height } = plot;
  if (kind === "lines") return <line x1={middle} x2={middle} y1={top} y2={top + height} stroke="var(--line)" />;
  const room = roomOf(plot, rows);
  return <rect x={middle - room / 2} y={top} width={room} height={height} fill="var(--sunken)" />;
}

interface MarksProps {
  plot: Plot;
  rows: ChartRow[];
  middles: number[];
  width: number;
  y: number;
}

function Marks({ plot, rows, middles, width, y }: MarksProps) {
  const texts = marksBelow(rows, { width, room: roomOf(plot, rows.length) });
  return texts.map((text, row) =>
    text === "" ? null : (
      <text key={rows[row]?.label} x={middles[row]} y={y} textAnchor="middle" {...TICK}>
        {text}
      </text>
    ),
  );
}

/** Rows that are moments have marks at round ones; others as many as there is room for. */
function marksBelow(rows: ChartRow[], { width, room }: { width: number; room: number }): string[] {
  const moments = rows.flatMap(({ at }) => (at === undefined ? [] : [at]));
  if (moments.length === rows.length) return timeTicks(moments, Math.max(2, Math.floor(width / MARK_WIDTH)));
  const longest = Math.max(0, ...rows.map(({ label }) => label.length));
  const each = everyHowMany(room, longest * CHARACTER_WIDTH + TEXT_GAP);
  return rows.map(({ label }, row) => (row % each === 0 ? label : ""));
}

function Shapes({
  plot,
  series,
  rows,
  kind,
}: Pick<ChartProps, "series" | "rows"> & { plot: Plot; kind: "bars" | "lines" }) {
  if (kind === "bars") {
    const paths = barPaths(
      plot,
      rows.map(({ values }) => series.map(({ name }) => values[name] ?? 0)),
    );
    return series.map(({ name, colour }, place) => (
      <path key={name} d={paths[place]} fill={`var(--chart-${colour})`} shapeRendering="crispEdges" />
    ));
  }
  return series.map(({ name, colour }) => {
    const { stroke, area, lonely } = lineOfValues(
      plot,
      rows.map(({ values }) => values[name]),
    );
    const paint = `var(--chart-${colour})`;
    return (
      <g key={name}>
        {series.length === 1 && <path d={area} fill={paint} fillOpacity={0.12} />}
        <path d={stroke} fill="none" stroke={paint} strokeWidth={1.75} strokeLinejoin="round" />
        {lonely.map(({ x, y }) => (
          <circle key={x} cx={x} cy={y} r={2.5} fill={paint} />
        ))}
      </g>
    );
  });
}

interface HintProps extends Pick<ChartProps, "series" | "format"> {
  row: ChartRow;
  x: number;
  width: number;
}

/** Beside the row, on the side that has more room; the topmost of a stack first. */
function Hint({ row: { label, values, texts }, series, format, x, width }: HintProps) {
  const shown = series.filter(({ name }) => (values[name] ?? 0) > 0).toReversed();
  const side = x > width / 2 ? { right: width - x + 10 } : { left: x + 10 };
  return (
    <div
      role="status"
      style={side}
      className="pointer-events-none absolute top-2 z-10 rounded-md border border-line bg-raised px-3 py-2 text-xs shadow-lg"
    >
      <p className="mb-1 font-medium">{label}</p>
      {shown.length === 0 && <p className="text-ink-soft">No data</p>}
      {shown.map(({ name }) => (
        <p key={name} className="flex justify-between gap-6">
          <span className="text-ink-soft">{name}</span>
          <span>{texts?.[name] ?? format(values[name] ?? 0)}</span>
        </p>
      ))}
    </div>
  );
}
