/** The drawing itself, with Recharts: the only file that loads it. */
import { Area, AreaChart, Bar, BarChart, CartesianGrid, ResponsiveContainer, Tooltip, XAxis, YAxis } from "recharts";
import type { ChartProps, ChartRow } from "./chart-data.ts";

const MARGIN = { top: 8, right: 4, bottom: 0, left: 0 };
const TICKS = 4;
const AXIS_GAP = 14;
/** Of the ticks' font, nearly. */
const CHARACTER_WIDTH = 6.5;
const TICK = { fill: "var(--ink-soft)", fontSize: 11 };

/** The default export is what `lazy` asks for. */
export default function Drawing({ series, rows, kind = "bars", format, whole = false, height = 240 }: ChartProps) {
  const textOf = (label: string, name: string, value: number): string =>
    rows.find((row) => row.label === label)?.texts?.[name] ?? format(value);
  const most = Math.max(0, ...rows.map(sumOf));
  const Frame = kind === "bars" ? BarChart : AreaChart;
  return (
    <ResponsiveContainer width="100%" height={height}>
      <Frame data={rows} margin={MARGIN} accessibilityLayer={false}>
        <CartesianGrid vertical={false} stroke="var(--line)" />
        <XAxis dataKey="label" tick={TICK} tickLine={false} axisLine={{ stroke: "var(--line)" }} minTickGap={24} />
        <YAxis
          tick={TICK}
          tickLine={false}
          axisLine={false}
          width={axisWidth(most, format)}
          tickFormatter={format}
          tickCount={TICKS}
          allowDecimals={!whole}
          domain={[0, whole && most < 1 ? 1 : "auto"]}
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
              dataKey={amountOf(name)}
              stackId="all"
              fill={`var(--chart-${colour})`}
              maxBarSize={36}
              isAnimationActive={false}
            />
          ) : (
            <Area
              key={name}
              name={name}
              dataKey={amountOf(name)}
              type="monotone"
              stroke={`var(--chart-${colour})`}
              fill={`var(--chart-${colour})`}
              fillOpacity={0.12}
              strokeWidth={1.75}
              isAnimationActive={false}
            />
          ),
        )}
      </Frame>
    </ResponsiveContainer>
  );
}

const sumOf = ({ values }: ChartRow): number => Object.values(values).reduce((sum, value) => sum + value, 0);

/** As wide as its longest label: small amounts of money are long. */
function axisWidth(most: number, format: (value: number) => string): number {
  const labels = Array.from({ length: TICKS }, (_, i) => format((most * i) / (TICKS - 1)));
  return AXIS_GAP + CHARACTER_WIDTH * Math.max(...labels.map(({ length }) => length));
}

/** By a function: a name may be any text, and Recharts would read dots in it as a path. */
const amountOf =
  (name: string) =>
  ({ values }: ChartRow): number =>
    values[name] ?? 0;

interface HintProps {
  label: unknown;
  payload: readonly { name?: unknown; value?: unknown; color?: string | undefined }[] | undefined;
  textOf: (label: string, name: string, value: number) => string;
}

function Hint({ label, payload = [], textOf }: HintProps) {
  const shown = payload.filter(({ value }) => Number(value) > 0).toReversed();
  return (
    <div className="rounded-md border border-line bg-raised px-3 py-2 text-xs shadow-lg">
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
