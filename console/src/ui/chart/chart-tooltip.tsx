/** A tooltip with the values of one row, announced when the arrow keys move. */
import { type ChartKind, type ChartProps, type ChartRow, sumVisibleValues } from "./chart-data.ts";

interface Props extends Pick<ChartProps, "series" | "format"> {
  row: ChartRow;
  kind: ChartKind;
  adds: boolean;
  hidden: ReadonlySet<string>;
  before: ChartRow | undefined;
  beforeWords: string | undefined;
  x: number;
  width: number;
}

/** Draws the tooltip on the side with more space. Lists the series from the top of the stack down. */
export function ChartTooltip({ row, series, kind, adds, format, hidden, before, beforeWords, x, width }: Props) {
  const { label, values, texts } = row;
  const isShown = (value: number | undefined): value is number =>
    value !== undefined && (kind === "lines" || value > 0);
  const shown = series.filter(({ name }) => isShown(values[name])).toReversed();
  const side = x > width / 2 ? { right: width - x + 10 } : { left: x + 10 };
  const line = (name: string, text: string) => (
    <p key={name} className="flex justify-between gap-6">
      <span className="text-ink-soft">{name}</span>
      <span className="whitespace-nowrap">{text}</span>
    </p>
  );
  return (
    <div
      role="status"
      style={side}
      className="pointer-events-none absolute top-2 z-10 rounded-md border border-line bg-raised px-3 py-2 text-xs shadow-lg"
    >
      <p className="mb-1 font-medium">{label}</p>
      {shown.length === 0 && <p className="text-ink-soft">No data</p>}
      {shown.map(({ name }) => line(name, texts?.[name] ?? format(values[name] ?? 0)))}
      {/* Rows with texts have rounded numbers, whose sum would not be the sum of the texts. */}
      {adds &&
        (before !== undefined || texts === undefined) &&
        shown.length > 1 &&
        line("In all", format(sumVisibleValues(row, hidden)))}
      {before !== undefined && (
        <div className="mt-1 border-t border-line pt-1">
          <p className="font-medium">
            {before.label} <span className="font-normal text-ink-soft">{beforeWords}</span>
          </p>
          {adds
            ? line("In all", format(sumVisibleValues(before, hidden)))
            : series.flatMap(({ name }) => {
                const value = before.values[name];
                return value === undefined ? [] : [line(name, format(value))];
              })}
        </div>
      )}
    </div>
  );
}
