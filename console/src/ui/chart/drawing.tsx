/** The drawing itself, with Recharts: the only file that loads it. */
import { useState } from "react";
import { Area, AreaChart, Bar, BarChart, CartesianGrid, ResponsiveContainer, Tooltip, XAxis, YAxis } from "recharts";
import type { ChartProps, ChartRow } from "./chart-data.ts";
import { timeTicks, valueTicks } from "./ticks.ts";

/** At the right there is half of a mark below the axis: "Nov 16". */
const MARGIN = { top: 8, right: 24, bottom: 0, left: 0 };
const AXIS_GAP = 14;
/** Of the ticks' font, nearly. */
const CHARACTER_WIDTH = 6.5;
const TICK = { fill: "var(--ink-soft)", fontSize: 11 };
/** What a mark below the axis needs. */
const MARK_WIDTH = 72;

/** The default export is what `lazy` asks for. */
export default function Drawing(props: ChartProps) {
  const { title, series, rows, kind = "bars", format, whole = false, height = 240 } = props;
  const [width, setWidth] = useState(0);
  const textOf = (label: string, name: string, value: number): string =>
    rows.find((row) => row.label === label)?.texts?.[name] ?? format(value);
  const most = Math.max(0, ...rows.map(kind === "bars" ? sumOf : largestOf));
  const ticks = valueTicks(most, { whole });
  const write = (value: number): string => format(value, ticks[1]);
  const Frame = kind === "bars" ? BarChart : AreaChart;
  return (
    <ResponsiveContainer width="100%" height={height} onResize={setWidth}>
      <Frame data={rows} margin={MARGIN} accessibilityLayer aria-label={`${title}. Arrow keys move along it.`}>
        <CartesianGrid vertical={false} stroke="var(--line)" />
        <XAxis
          dataKey="label"
          tick={TICK}
          tickLine={false}
          axisLine={{ stroke: "var(--line)" }}
          {...marksBelow(rows, width)}
        />
        <YAxis
          tick={TICK}
          tickLine={false}
          axisLine={false}
          width={AXIS_GAP + CHARACTER_WIDTH * Math.max(...ticks.map((tick) => write(tick).length))}
          tickFormatter={write}
          ticks={ticks}
          domain={[0, ticks.at(-1) ?? 1]}
        />
        <Tooltip
          content={({ active, label, payload }) => (active ? <Hint {...{ label, payload, textOf }} /> : null)}
          cursor={{ fill: "var(--sunken)", stroke: "var(--line)" }}
          isAnimationActive={false}
        />
        {series.map(({ name, colour }) =>
          kind === "bars" ? (
            <Bar
              key={name}
              name={name}
              dataKey={(row: ChartRow) => row.values[name] ?? 0}
              stackId="all"
              fill={`var(--chart-${colour})`}
              maxBarSize={36}
              isAnimationActive={false}
            />
          ) : (
            <Area
              key={name}
              name={name}
              dataKey={(row: ChartRow) => row.values[name] ?? null}
              type="linear"
              stroke={`var(--chart-${colour})`}
              fill={`var(--chart-${colour})`}
              fillOpacity={series.length === 1 ? 0.12 : 0}
              strokeWidth={1.75}
              dot={({ cx, cy, index }) => <Lonely key={index} {...{ rows, name, colour, index, cx, cy }} />}
              isAnimationActive={false}
            />
          ),
        )}
      </Frame>
    </ResponsiveContainer>
  );
}

const sumOf = ({ values }: ChartRow): number => Object.values(values).reduce((sum, value) => sum + value, 0);
const largestOf = ({ values }: ChartRow): number => Math.max(0, ...Object.values(values));

/** Rows that are moments have marks at round ones; others as many as there is room for. */
function marksBelow(rows: ChartRow[], width: number) {
  const moments = rows.flatMap(({ at }) => (at === undefined ? [] : [at]));
  if (moments.length !== rows.length) return { minTickGap: 24 };
  const texts = timeTicks(moments, Math.max(2, Math.floor(width / MARK_WIDTH)));
  return { interval: 0, tickFormatter: (_: unknown, place: number) => texts[place] ?? "" };
}

interface LonelyProps {
  rows: ChartRow[];
  name: string;
  colour: number;
  index: number;
  cx: number | string | undefined;
  cy: number | string | undefined;
}

/** A value between two gaps has no line to be seen by. */
function Lonely({ rows, name, colour, index, cx, cy }: LonelyProps) {
  const has = (place: number): boolean => rows[place]?.values[name] !== undefined;
  if (!has(index) || has(index - 1) || has(index + 1)) return null;
  return <circle cx={cx} cy={cy} r={2.5} fill={`var(--chart-${colour})`} />;
}

interface HintProps {
  label: unknown;
  payload: readonly { name?: unknown; value?: unknown; color?: string | undefined }[] | undefined;
  textOf: (label: string, name: string, value: number) => string;
}

function Hint({ label, payload = [], textOf }: HintProps) {
  const shown = payload.filter(({ value }) => Number(value) > 0).toReversed();
  return (
    <div role="status" className="rounded-md border border-line bg-raised px-3 py-2 text-xs shadow-lg">
      <p className="mb-1 font-medium">{String(label)}</p>
      {shown.length === 0 && <p className="text-ink-soft">Nothing</p>}
      {shown.map(({ name, value }) => (
        <p key={String(name)} className="flex justify-between gap-6">
          <span className="text-ink-soft">{String(name)}</span>
          <span>{textOf(String(label), String(name), Number(value))}</span>
        </p>
      ))}
    </div>
  );
}
