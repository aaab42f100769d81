/** Converts a node's figures over time to chart data. Pure. */
import type { ActivityPoint, NodeActivity } from "../../../api/answer-types.ts";
import { formatExactDollars, parseMicro, toChartDollars } from "../../../dollar-amounts.ts";
import { decimalText, formatWithDecimals } from "../../../locale.ts";
import type { ChartRow, Series } from "../../../ui/chart/chart-data.ts";
import { formatBucketTick, formatMomentTick } from "../../../ui/chart/tick-labels.ts";

const DAY_S = 86_400;

/** The label of a time slot: days are in UTC, shorter slots in the reader's time zone. */
const labelOf = (at: number, slotS: number): string =>
  slotS === DAY_S ? formatBucketTick("day", at * 1000) : formatMomentTick(at * 1000);

export type ChartLines = { name: string; colour: number; of: (point: ActivityPoint) => number | null }[];

/** Converts the time slots to chart lines. A slot without measurements becomes a gap. */
export const toLineRows = ({ series, slot_s }: NodeActivity, lines: ChartLines): ChartRow[] =>
  series.map((point) => ({
    label: labelOf(point.at, slot_s),
    at: point.at * 1000,
    values: Object.fromEntries(
      lines.flatMap(({ name, of }) => {
        const value = of(point);
        return value === null ? [] : [[name, value]];
      }),
    ),
  }));

export const EARNED_SERIES: Series[] = [{ name: "Earned", colour: 2 }];

export const toEarningRows = ({ earnings, earnings_slot_s }: NodeActivity): ChartRow[] =>
  earnings.map(({ at, earned_micro }) => ({
    label: labelOf(at, earnings_slot_s),
    at: at * 1000,
    values: { Earned: toChartDollars(parseMicro(earned_micro)) },
    texts: { Earned: formatExactDollars(parseMicro(earned_micro)) },
  }));

/** The label of an axis mark, with as many digits as the distance between marks needs: "0.05 %". */
export const formatPercentTick = (share: number, step: number = share): string => {
  const digits = step > 0 ? Math.max(0, Math.ceil(-Math.log10(step * 100) - 1e-9)) : 0;
  return `${formatWithDecimals(share * 100, digits)} %`;
};

/** For example "42 %", "0.7 %", or "–" without measurements. Small shares are never rounded to zero. */
export function formatMeasuredShare(share: number | null): string {
  if (share === null) return "–";
  if (share > 0 && share < 0.001) return "< 0.1 %";
  return `${share > 0 && share < 0.1 ? decimalText(share * 100) : Math.round(share * 100)} %`;
}
