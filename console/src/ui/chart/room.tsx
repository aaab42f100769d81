/** As much room as a chart takes, while its rows are on their way: nothing moves when they come. */
import { Skeleton } from "../states.tsx";
import { HEIGHT } from "./chart-data.ts";

/** Of the legend and what stands beside it. */
const FOOT = 36;

export const ChartRoom = ({ height = HEIGHT }: { height?: number }) => (
  <div role="status" style={{ height: height + FOOT }}>
    <span className="sr-only">Loading…</span>
    <Skeleton className="size-full" />
  </div>
);
