/** Shows how much of a capacity is used, as numbers and a bar. */
import { formatCount } from "./time-text.tsx";

interface MeterProps {
  /** The label, for example "Slots of garage". */
  label: string;
  value: number;
  max: number;
  /** A word after the numbers, for example "busy". */
  word?: string;
}

export function Meter({ label, value, max, word }: MeterProps) {
  const share = max === 0 ? 0 : Math.min(1, value / max);
  return (
    <span title={label} className="inline-flex min-w-0 items-center gap-2.5 align-middle">
      <span aria-hidden className="block h-1.5 w-8 shrink-0 sm:w-16 overflow-hidden rounded-full bg-line">
        <span className="block h-full rounded-full bg-accent" style={{ width: `${share * 100}%` }} />
      </span>
      <span className="text-xs whitespace-nowrap text-ink-soft">
        {formatCount(value)} of {formatCount(max)}
        {word !== undefined && ` ${word}`}
      </span>
    </span>
  );
}
