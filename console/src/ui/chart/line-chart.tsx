/** Lines over time; a row without a value is a gap. For percentiles: `<LineChart title="…" {...percentileLines(points)} />`. */
import { Chart } from "./chart.tsx";
import type { ChartProps } from "./chart-data.ts";

export const LineChart = (props: Omit<ChartProps, "kind">) => <Chart {...props} kind="lines" />;
