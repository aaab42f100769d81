/** A list of parts of a whole, largest first: each has a name, a number and a bar behind them. */
import type { ReactNode } from "react";

export interface BarItem {
  key: string;
  name: ReactNode;
  /** The part's value; it determines only the length of the bar. */
  value: number;
  /** The number, formatted for display. */
  text: ReactNode;
}

interface Props {
  label: string;
  items: BarItem[];
  /** The number of a theme color, from 1 to 7. */
  colour?: number;
}

export function BarList({ label, items, colour = 1 }: Props) {
  const most = Math.max(0, ...items.map(({ value }) => value));
  return (
    <ul aria-label={label} className="flex flex-col gap-1">
      {items.map(({ key, name, value, text }) => (
        <li key={key} className="relative flex min-h-8 items-center justify-between gap-3 rounded-sm px-2 py-1">
          <span
            aria-hidden
            className="absolute inset-y-0 left-0 rounded-sm opacity-15"
            style={{ width: `${most === 0 ? 0 : (value / most) * 100}%`, background: `var(--chart-${colour})` }}
          />
          <span className="relative min-w-0 truncate">{name}</span>
          <span className="relative shrink-0 whitespace-nowrap">{text}</span>
        </li>
      ))}
    </ul>
  );
}
