/** A placeholder of a chart's size while its data loads, so that content below does not move. */
import { Skeleton } from "../loading-states.tsx";
import { CHART_HEIGHT } from "./chart-data.ts";

/** The height of the legend and the controls, in pixels. */
const FOOT = 36;

export const ChartPlaceholder = ({ height = CHART_HEIGHT }: { height?: number }) => (
  <div role="status" style={{ height: height + FOOT }}>
    <span className="sr-only">Loading…</span>
    <Skeleton className="size-full" />
  </div>
);
