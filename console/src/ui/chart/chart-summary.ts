/** Describes a chart in a few sentences for screen readers. The chart's table contains every value. Pure. */
import { type ChartProps, type ChartRow, type Series, sumVisibleValues } from "./chart-data.ts";

type Shown = Pick<ChartProps, "adds" | "kind" | "format"> & { series: Series[]; rows: ChartRow[] };

export function describeChart({ kind = "bars", adds = kind === "bars", format, series, rows }: Shown): string {
  const [first, last] = [rows[0], rows.at(-1)];
  if (first === undefined || last === undefined) return "No data.";
  const count = `${rows.length} ${rows.length === 1 ? "value" : "values"}`;
  const says = series.map(({ name }) => (adds ? sumOf(name, rows, format) : rangeOf(name, rows, format)));
  const total = adds && series.length > 1 ? [highestTotal(rows, series, format)] : [];
  return [`${count}, ${first.label} to ${last.label}.`, ...says, ...total].join(" ");
}

type Format = ChartProps["format"];

function sumOf(name: string, rows: ChartRow[], format: Format): string {
  const top = highest(rows, ({ values }) => values[name] ?? 0);
  const sum = rows.reduce((all, { values }) => all + (values[name] ?? 0), 0);
  return `${name}: ${format(sum)} in total, at most ${top.row.texts?.[name] ?? format(top.value)} at ${top.row.label}.`;
}

function rangeOf(name: string, rows: ChartRow[], format: Format): string {
  const known = rows.filter(({ values }) => values[name] !== undefined);
  if (known.length === 0) return `${name}: no data.`;
  const of = ({ values }: ChartRow): number => values[name] as number;
  const [top, low] = [highest(known, of), highest(known, (row) => -of(row))];
  const latest = known.at(-1) as ChartRow;
  return `${name}: ${format(-low.value)} at ${low.row.label} to ${format(top.value)} at ${top.row.label}, last ${format(of(latest))}.`;
}

function highestTotal(rows: ChartRow[], series: Series[], format: Format): string {
  const names = new Set(series.map(({ name }) => name));
  const hidden = new Set(rows.flatMap(({ values }) => Object.keys(values).filter((name) => !names.has(name))));
  const { row, value } = highest(rows, (each) => sumVisibleValues(each, hidden));
  return `Highest overall: ${format(value)} at ${row.label}.`;
}

/** The row with the highest value; the first such row if several are equal. */
function highest(rows: ChartRow[], of: (row: ChartRow) => number): { row: ChartRow; value: number } {
  let best = { row: rows[0] as ChartRow, value: of(rows[0] as ChartRow) };
  for (const row of rows) if (of(row) > best.value) best = { row, value: of(row) };
  return best;
}
