/** A chart's values as a table. */
import type { ChartProps, ChartRow } from "./chart-data.ts";

interface Props extends Pick<ChartProps, "title" | "series" | "rows" | "format"> {
  /** The text for a missing value. */
  none: string;
  /** The note about the time zone, for example "Times in UTC". */
  zone: string;
  earlier: ChartRow[] | undefined;
  beforeWords: string | undefined;
}

export function ChartTable({ title, series, rows, format, none, zone, earlier, beforeWords }: Props) {
  const textOf = (row: ChartRow | undefined, name: string): string => {
    const value = row?.values[name];
    return row?.texts?.[name] ?? (value === undefined ? none : format(value));
  };
  return (
    <table className="w-full text-xs">
      <caption className="sr-only">
        {title}. {zone}.
      </caption>
      <thead>
        <tr className="text-ink-soft">
          <th scope="col" className="py-1 text-left font-medium">
            Time
          </th>
          {series.map(({ name }) => (
            <th key={name} scope="col" className="py-1 pl-4 text-right font-medium">
              {name}
            </th>
          ))}
          {earlier !== undefined &&
            series.map(({ name }) => (
              <th key={name} scope="col" className="py-1 pl-4 text-right font-medium">
                {name}, {beforeWords}
              </th>
            ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, place) => (
          <tr key={row.at} className="border-t border-line">
            <th scope="row" className="py-1 text-left font-normal whitespace-nowrap">
              {row.label}
            </th>
            {series.map(({ name }) => (
              <td key={name} className="py-1 pl-4 text-right">
                {textOf(row, name)}
              </td>
            ))}
            {earlier !== undefined &&
              series.map(({ name }) => (
                <td key={name} className="py-1 pl-4 text-right">
                  {textOf(earlier[place], name)}
                </td>
              ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
