/** Charts. What they draw is also there as a table, for screen readers and for whoever wants the numbers. */
import { useId, useState } from "react";
import { Button } from "../button.tsx";
import type { ChartProps } from "./chart-data.ts";
import { Drawing } from "./drawing.tsx";

export function Chart(props: ChartProps) {
  const { title, series, rows, format, kind, height = 240 } = props;
  const none = kind === "lines" ? "–" : format(0);
  const [asTable, setAsTable] = useState(false);
  const tableId = useId();
  return (
    <figure aria-label={title} className="flex flex-col gap-3">
      <div
        className={
          asTable ? "hidden" : "rounded-sm has-[svg:focus-visible]:outline-2 has-[svg:focus-visible]:outline-accent"
        }
      >
        <Drawing {...props} height={height} />
      </div>
      <figcaption className="flex flex-wrap items-center gap-x-4 gap-y-1.5 text-xs text-ink-soft">
        <ul className="flex flex-1 flex-wrap gap-x-4 gap-y-1">
          {series.map(({ name, colour }) => (
            <li key={name} className="flex items-center gap-1.5 wrap-anywhere">
              <span aria-hidden className={`size-2.5 shrink-0 rounded-[3px] ${SWATCH[colour]}`} />
              {name}
            </li>
          ))}
        </ul>
        <Button
          look="quiet"
          size="small"
          aria-expanded={asTable}
          aria-controls={tableId}
          onClick={() => setAsTable(!asTable)}
        >
          {asTable ? "Show as chart" : "Show as table"}
        </Button>
      </figcaption>
      <div id={tableId} className={asTable ? "max-h-72 overflow-auto" : "sr-only"}>
        <table className="w-full text-xs">
          <caption className="sr-only">{title}</caption>
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
            </tr>
          </thead>
          <tbody>
            {rows.map(({ label, values, texts }) => (
              <tr key={label} className="border-t border-line">
                <th scope="row" className="py-1 text-left font-normal">
                  {label}
                </th>
                {series.map(({ name }) => (
                  <td key={name} className="py-1 pl-4 text-right">
                    {texts?.[name] ?? (values[name] === undefined ? none : format(values[name]))}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  );
}

/** Written out, so that the style sheet has them. */
const SWATCH: Record<number, string> = {
  1: "bg-chart-1",
  2: "bg-chart-2",
  3: "bg-chart-3",
  4: "bg-chart-4",
  5: "bg-chart-5",
  6: "bg-chart-6",
  7: "bg-chart-7",
};
