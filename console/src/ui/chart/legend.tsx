/** The legend: a click on a series hides it, and a switch compares with the previous period. */
import { errorMessage } from "../../api/api-fault.ts";
import { joinClasses } from "../join-classes.ts";
import { type ChartProps, type ChartRow, type PreviousPeriod, sumVisibleValues } from "./chart-data.ts";
import { formatRelativeChange } from "./tick-labels.ts";

interface Props extends Pick<ChartProps, "series" | "format"> {
  /** Whether the values of a row add up to a sum. */
  adds: boolean;
  hidden: ReadonlySet<string>;
  onToggle: (name: string) => void;
  before: PreviousPeriod | undefined;
  /** The visible rows of the current and the previous period. */
  rows: ChartRow[];
  earlier: ChartRow[] | undefined;
}

export function ChartLegend({ series, hidden, onToggle, before, ...compared }: Props) {
  return (
    <ul aria-label="Series" className="flex min-w-0 flex-1 flex-wrap items-center gap-x-4">
      {series.map(({ name, colour }) => (
        <li key={name} className="flex min-h-6 items-center wrap-anywhere">
          {series.length === 1 ? (
            <Entry {...{ name, colour }} off={false} />
          ) : (
            <button
              type="button"
              aria-pressed={!hidden.has(name)}
              title={hidden.has(name) ? "Show in the chart" : "Hide from the chart"}
              className="rounded-sm text-left hover:text-ink"
              onClick={() => onToggle(name)}
            >
              <Entry {...{ name, colour }} off={hidden.has(name)} />
            </button>
          )}
        </li>
      ))}
      {before?.on && (
        <li className="flex min-h-6 items-center gap-1.5">
          <span aria-hidden className="w-4 shrink-0 border-t-2 border-dashed border-ink" />
          <span role="status">
            {before.words}
            <Found {...compared} {...{ before, hidden }} />
          </span>
        </li>
      )}
    </ul>
  );
}

const Entry = ({ name, colour, off }: { name: string; colour: number; off: boolean }) => (
  <span className="flex min-h-6 items-center gap-1.5">
    <span
      aria-hidden
      className={joinClasses("size-2.5 shrink-0 rounded-[3px]", off ? "border border-line-strong" : SWATCH[colour])}
    />
    <span className={off ? "line-through" : undefined}>{name}</span>
  </span>
);

type FoundProps = Omit<Props, "series" | "onToggle" | "before"> & { before: PreviousPeriod };

/** Shows the sum of the previous period's visible bars, and how the current period's sum differs from it. */
function Found({ before: { rows: known, error }, adds, format, hidden, rows, earlier }: FoundProps) {
  if (error != null) return <span className="text-bad">: {errorMessage(error)}</span>;
  if (known === undefined) return ": loading…";
  if (!adds || earlier === undefined) return null;
  const sum = (some: ChartRow[]): number => some.reduce((all, row) => all + sumVisibleValues(row, hidden), 0);
  const [now, then] = [sum(rows), sum(earlier)];
  return `: ${format(then)}${then === 0 ? "" : `, now ${formatRelativeChange(now / then - 1)}`}`;
}

/** Written out in full, because Tailwind generates only class names that occur in the source. */
const SWATCH: Record<number, string> = {
  1: "bg-chart-1",
  2: "bg-chart-2",
  3: "bg-chart-3",
  4: "bg-chart-4",
  5: "bg-chart-5",
  6: "bg-chart-6",
  7: "bg-chart-7",
};
