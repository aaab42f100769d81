/** A small chart beside a number, with a description in words. */
import { sparklinePoints } from "./sparkline-points.ts";

interface Props {
  /** The description for screen readers: "Spend by day, this month". */
  label: string;
  /** The values, oldest first. */
  values: number[];
  /** The number of a theme color, from 1 to 7. */
  colour?: number;
}

const WIDTH = 96;
const HEIGHT = 24;

export function Sparkline({ label, values, colour = 1 }: Props) {
  const line = sparklinePoints(values, WIDTH, HEIGHT);
  const stroke = `var(--chart-${colour})`;
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      className="h-6 w-24 max-w-full overflow-visible"
    >
      <polygon points={`0,${HEIGHT} ${line} ${WIDTH},${HEIGHT}`} fill={stroke} fillOpacity={0.12} />
      <polyline points={line} fill="none" stroke={stroke} strokeWidth={1.5} vectorEffect="non-scaling-stroke" />
    </svg>
  );
}
