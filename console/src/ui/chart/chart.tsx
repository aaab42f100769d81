/**
 * The console's chart: bars or lines over time. Users can zoom (or narrow the page) with mouse or keyboard, compare
 * with the previous period, save CSV or SVG, and hide series. A description and a table contain the same data for screen readers.
 */
import { useId, useMemo, useRef, useState } from "react";
import { saveText } from "../../save-text.ts";
import { Button } from "../button.tsx";
import { EmptyState } from "../loading-states.tsx";
import { CHART_HEIGHT, type ChartProps } from "./chart-data.ts";
import { ChartDrawing } from "./chart-drawing.tsx";
import { describeChart } from "./chart-summary.ts";
import { ChartTable } from "./chart-table.tsx";
import { ChartTools } from "./chart-tools.tsx";
import { ChartLegend } from "./legend.tsx";
import { formatTimeZone } from "./tick-labels.ts";
import { findVisibleRows, scaleZoom, type ZoomedTimes } from "./zoom.ts";

export function Chart(props: ChartProps) {
  const {
    title,
    series,
    rows,
    format,
    kind = "bars",
    whole = false,
    adds = kind === "bars",
    height = CHART_HEIGHT,
    before,
    onNarrow,
  } = props;
  const figure = useRef<HTMLElement>(null);
  const [asTable, setAsTable] = useState(false);
  const [hidden, toggle] = useHidden();
  const { moments, view, zoomed, setZoom } = useZoom(props);
  const [tableId, summaryId] = [useId(), useId()];
  const shown = useMemo(() => series.filter(({ name }) => !hidden.has(name)), [series, hidden]);
  const { first, last } = view;
  const inView = useMemo(() => rows.slice(first, last + 1), [rows, first, last]);
  const known = before?.on === true ? before.rows : undefined;
  const earlier = useMemo(() => known?.slice(first, last + 1), [known, first, last]);
  const zone = formatTimeZone(moments);
  if (rows.length === 0) return <EmptyState title="No data" />;
  const seen = { series: shown, rows: inView, format, earlier };
  const save = async (as: "csv" | "svg"): Promise<void> => {
    const {
      formatChartCsv: csvOf,
      formatFileName: fileNameOf,
      readThemeColour: themeColour,
      renderChartSvg: pictureOf,
    } = await import("./chart-export.ts");
    const name = `${fileNameOf(title)}.${as}`;
    const compared = earlier && before && { words: before.words, rows: earlier };
    if (as === "csv") return saveText(name, "text/csv", csvOf({ ...seen, unit: props.unit, before: compared }));
    const drawing = figure.current?.querySelector<SVGSVGElement>("svg[role=application]");
    if (drawing == null) return;
    const legend = [
      ...shown.map((one) => ({ name: one.name, colour: `var(--chart-${one.colour})` })),
      ...(compared === undefined ? [] : [{ name: `dashed: ${compared.words}`, colour: "var(--ink)" }]),
    ];
    const size = { width: drawing.clientWidth, height };
    const picture = { title, drawing: drawing.innerHTML, ...size, legend, note: zone, colourOf: themeColour };
    saveText(name, "image/svg+xml", pictureOf(picture));
  };
  return (
    <figure ref={figure} aria-label={title} className="flex flex-col gap-2">
      {asTable ? (
        <div id={tableId} className="overflow-auto" style={{ height }}>
          <ChartTable {...seen} {...{ title, zone }} none={adds ? format(0) : "–"} beforeWords={before?.words} />
        </div>
      ) : (
        <div className="relative rounded-sm has-[svg:focus-visible]:outline-2 has-[svg:focus-visible]:outline-accent">
          <ChartDrawing
            {...seen}
            {...{ title, kind, adds, whole, height, hidden, moments, view }}
            describedBy={summaryId}
            beforeWords={before?.words}
            onZoom={setZoom}
            {...(onNarrow && { onNarrow })}
          />
          {zoomed && (
            <Button size="small" className="absolute top-1 right-7 shadow-sm" onClick={() => setZoom(undefined)}>
              Reset zoom
            </Button>
          )}
        </div>
      )}
      <p id={summaryId} className="sr-only">
        {describeChart({ ...seen, kind, adds })} {zone}.
      </p>
      <figcaption className="flex flex-wrap items-center gap-x-4 text-xs text-ink-soft">
        {props.legend ?? (
          <ChartLegend {...{ series, hidden, before, format, adds, earlier }} rows={inView} onToggle={toggle} />
        )}
        <span className="ml-auto flex items-center gap-2">
          <span>{zone}</span>
          <ChartTools
            {...{ before, asTable, tableId, zoomed }}
            onTable={() => setAsTable(!asTable)}
            onZoom={
              onNarrow === undefined
                ? (by) =>
                    setZoom(by === "reset" ? undefined : scaleZoom(moments, view, Math.round((first + last) / 2), by))
                : undefined
            }
            onSave={save}
          />
        </span>
      </figcaption>
    </figure>
  );
}

const NONE: ReadonlySet<string> = new Set();

/** The names of the series that the user has hidden, and a function that toggles one. */
function useHidden(): [ReadonlySet<string>, (name: string) => void] {
  const [hidden, setHidden] = useState(NONE);
  const toggle = (name: string): void =>
    setHidden((now) => (now.has(name) ? new Set([...now].filter((one) => one !== name)) : new Set([...now, name])));
  return [hidden, toggle];
}

/** The zoom belongs to one chart title. A chart with another title, such as another range, starts without a zoom. */
function useZoom({ title, rows }: Pick<ChartProps, "title" | "rows">) {
  const [kept, setKept] = useState<{ title: string; zoom: ZoomedTimes | undefined }>();
  const moments = useMemo(() => rows.map(({ at }) => at), [rows]);
  const view = findVisibleRows(moments, kept?.title === title ? kept.zoom : undefined);
  const zoomed = view.first > 0 || view.last < moments.length - 1;
  return { moments, view, zoomed, setZoom: (zoom: ZoomedTimes | undefined) => setKept({ title, zoom }) };
}
