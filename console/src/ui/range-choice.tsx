/** The choice of the time range that a chart shows. */
import type { TimeRange } from "../time-range.ts";
import { Segmented } from "./segmented.tsx";

const RANGES: { value: TimeRange; label: string }[] = [
  { value: "24h", label: "24 hours" },
  { value: "7d", label: "7 days" },
  { value: "30d", label: "30 days" },
];

export const RangeChoice = ({ range, onChange }: { range: TimeRange; onChange: (range: TimeRange) => void }) => (
  <Segmented label="Time range" value={range} options={RANGES} onChange={onChange} />
);
