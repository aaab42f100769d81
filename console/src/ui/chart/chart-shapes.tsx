/** The chart's stacked bars or lines, with those of the previous period behind them. */
import { type DrawingInput, sumVisibleValues } from "./chart-data.ts";
import { computeLine, formatBarPaths, type PlotArea, stepPath } from "./geometry.ts";

type Props = DrawingInput & { plot: PlotArea };

const DASHED = { fill: "none", strokeDasharray: "4 3", strokeWidth: 1.5 };

export const ChartShapes = (props: Props) => (props.kind === "bars" ? <Bars {...props} /> : <Lines {...props} />);

function Bars({ plot, series, rows, earlier, hidden }: Props) {
  const paths = formatBarPaths(
    plot,
    rows.map(({ values }) => series.map(({ name }) => values[name] ?? 0)),
  );
  return (
    <>
      {series.map(({ name, colour }, place) => (
        <path key={name} d={paths[place]} fill={`var(--chart-${colour})`} shapeRendering="crispEdges" />
      ))}
      {earlier !== undefined && (
        <path
          {...DASHED}
          d={stepPath(
            plot,
            rows.map((_, place) => earlier[place] && sumVisibleValues(earlier[place], hidden)),
          )}
          stroke="var(--ink)"
        />
      )}
    </>
  );
}

function Lines({ plot, series, rows, earlier }: Props) {
  return series.map(({ name, colour }) => {
    const { stroke, area, lonely } = computeLine(
      plot,
      rows.map(({ values }) => values[name]),
    );
    const before =
      earlier &&
      computeLine(
        plot,
        rows.map((_, place) => earlier[place]?.values[name]),
      );
    const paint = `var(--chart-${colour})`;
    return (
      <g key={name}>
        {series.length === 1 && <path d={area} fill={paint} fillOpacity={0.12} />}
        {before !== undefined && <path {...DASHED} d={before.stroke} stroke={paint} strokeOpacity={0.75} />}
        <path d={stroke} fill="none" stroke={paint} strokeWidth={1.75} strokeLinejoin="round" />
        {lonely.map(({ x, y }) => (
          <circle key={x} cx={x} cy={y} r={2.5} fill={paint} />
        ))}
      </g>
    );
  });
}
