/** Converts amounts to stacked bars: one bar per hour or day, with the largest parts named and the others combined. */
import { decimalsNeeded, formatColumnDollars, toChartDollars } from "../../dollar-amounts.ts";
import { type ChartRow, chooseSeriesColour, type Series } from "./chart-data.ts";

const PARTS_MAX = 6;
const OTHERS = "Others";

interface Amount {
  bucket: string;
  part: string;
  pico: bigint;
}

interface Period {
  amounts: Amount[];
  /** The name of every bucket in order: `2026-11-15T06:00:00Z`, `2026-11-15`, or milliseconds. */
  buckets: string[];
}

interface StackedParts extends Period {
  nameOf: (part: string) => string;
  labelOf: (bucket: string) => string;
  /** The previous period. Its bars are split into the same named parts. */
  before?: Period | undefined;
}

export function stackAmounts(parts: StackedParts): {
  series: Series[];
  rows: ChartRow[];
  earlier: ChartRow[] | undefined;
} {
  const { amounts, nameOf, labelOf, before } = parts;
  const totals = sumBy(amounts, ({ part }) => part);
  const largest = [...totals.keys()].sort((a, b) => compare(totals.get(b) ?? 0n, totals.get(a) ?? 0n));
  const named = new Set(largest.slice(0, largest.length > PARTS_MAX ? PARTS_MAX - 1 : PARTS_MAX));
  const seriesOf = (part: string): string => (named.has(part) ? nameOf(part) : OTHERS);
  const names = [...new Set(largest.map(seriesOf))];
  return {
    series: names.map((name, place) => ({ name, colour: name === OTHERS ? 7 : chooseSeriesColour(place) })),
    rows: rowsOf(parts, { names, seriesOf, labelOf }),
    // Parts that occur only in the previous period are combined as others.
    earlier: before && rowsOf(before, { names: [...new Set([...names, OTHERS])], seriesOf, labelOf }),
  };
}

interface Naming extends Pick<StackedParts, "labelOf"> {
  names: string[];
  seriesOf: (part: string) => string;
}

function rowsOf({ amounts, buckets }: Period, { names, seriesOf, labelOf }: Naming): ChartRow[] {
  const sums = sumBy(amounts, ({ bucket, part }) => `${bucket}\n${seriesOf(part)}`);
  const places = decimalsNeeded(sums.values());
  return buckets.map((bucket) => {
    const cells = names.map((name) => [name, sums.get(`${bucket}\n${name}`) ?? 0n] as const);
    return {
      label: labelOf(bucket),
      at: /^\d{5,}$/.test(bucket) ? Number(bucket) : Date.parse(bucket),
      values: Object.fromEntries(cells.map(([name, pico]) => [name, toChartDollars(pico)])),
      texts: Object.fromEntries(cells.map(([name, pico]) => [name, formatColumnDollars(pico, places)])),
    };
  });
}

function sumBy(amounts: Amount[], keyOf: (amount: Amount) => string): Map<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const amount of amounts) sums.set(keyOf(amount), (sums.get(keyOf(amount)) ?? 0n) + amount.pico);
  return sums;
}

const compare = (a: bigint, b: bigint): number => (a > b ? 1 : a < b ? -1 : 0);
