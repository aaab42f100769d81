/** The span of time that the overview shows. */
import { Segmented } from "../../ui/segmented.tsx";
import type { Range } from "./spend.ts";

const RANGES: { value: Range; label: string }[] = [
  { value: "24h", label: "24 hours" },
  { value: "7d", label: "7 days" },
  { value: "30d", label: "30 days" },
];

export const RANGE_WORDS: Record<Range, string> = {
  "24h": "the last 24 hours",
  "7d": "the last 7 days",
  "30d": "the last 30 days",
};

export const RangeChoice = ({ range, onChange }: { range: Range; onChange: (range: Range) => void }) => (
  <Segmented label="Span of time" value={range} options={RANGES} onChange={onChange} />
);
