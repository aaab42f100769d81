/** Earnings over time, stacked by node or model, with totals. */
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import type { EarningSum, EarningSumsQuery } from "../../../api/answer-types.ts";
import { earningSumsQuery } from "../../../data/earnings.ts";
import { parseMicro, sumMicro } from "../../../dollar-amounts.ts";
import {
  BUCKETED_RANGES,
  computeBucketedSpan,
  computePreviousSpan,
  formatBucketNames,
  RANGE_TEXTS,
} from "../../../time-range.ts";
import { Card } from "../../../ui/card.tsx";
import { Chart } from "../../../ui/chart/chart.tsx";
import { ChartPlaceholder } from "../../../ui/chart/chart-placeholder.tsx";
import { RangeSum } from "../../../ui/chart/range-sum.tsx";
import { stackAmounts } from "../../../ui/chart/stack-amounts.ts";
import { formatBucketTick, formatMoneyTick } from "../../../ui/chart/tick-labels.ts";
import { usePreviousPeriod } from "../../../ui/chart/use-previous-period.ts";
import { ChartColumn } from "../../../ui/icons.tsx";
import { EmptyState, LoadedQuery } from "../../../ui/loading-states.tsx";
import { MoneyText } from "../../../ui/money-text.tsx";
import { RangeChoice, useRange } from "../../../ui/range-choice.tsx";
import { SegmentedChoice } from "../../../ui/segmented-choice.tsx";
import { useHourStart } from "../../../ui/time-text.tsx";
import { EarningsBreakdown } from "./earnings-breakdown.tsx";

type Split = NonNullable<EarningSumsQuery["split"]>;

const SPLITS: { value: Split; label: string }[] = [
  { value: "model", label: "By model" },
  { value: "node", label: "By node" },
];

interface Props {
  node: string | undefined;
  nameOf: (node: string) => string;
}

export function EarningsChart({ node, nameOf }: Props) {
  const [range, setRange] = useRange(BUCKETED_RANGES, "24h");
  const [split, setSplit] = useState<Split>("model");
  const hour = useHourStart();
  const span = useMemo(() => computeBucketedSpan(range, hour.getTime()), [range, hour]);
  const { by } = span;
  const query = { from: span.from.toISOString(), ...(node !== undefined && { node }) };
  const sums = useQuery(earningSumsQuery({ ...query, by, split }));
  const comparison = usePreviousPeriod(range);
  const earlierSpan = { from: computePreviousSpan(span).from.toISOString(), to: query.from };
  const before = useQuery({ ...earningSumsQuery({ ...query, ...earlierSpan, by, split }), ...comparison.query });
  const partName = (part: string): string => (split === "node" ? nameOf(part) : part || "no model");
  const labelOf = (bucket: string): string => formatBucketTick(by, bucket);
  const amounts = (rows: EarningSum[]) =>
    rows.map((row) => ({ bucket: row[by] ?? "", part: row[split] ?? "", pico: parseMicro(row.earned_micro) }));
  const chartOf = (rows: EarningSum[]) => {
    const earlierSums = before.data && {
      amounts: amounts(before.data.data),
      buckets: formatBucketNames(computePreviousSpan(span)),
    };
    const period = { amounts: amounts(rows), buckets: formatBucketNames(span), before: earlierSums };
    const { earlier, ...chart } = stackAmounts({ ...period, nameOf: partName, labelOf });
    return { ...chart, before: comparison.of(earlier, before.error) };
  };
  return (
    <>
      <Card
        title="Earned over time"
        aside={
          <div className="flex flex-wrap gap-2">
            <SegmentedChoice label="Group by" value={split} options={SPLITS} onChange={setSplit} />
            <RangeChoice range={range} choices={BUCKETED_RANGES} onChange={setRange} />
          </div>
        }
      >
        <LoadedQuery query={sums} loading={<ChartPlaceholder />}>
          {({ data }) =>
            data.length === 0 ? (
              <EmptyState icon={<ChartColumn aria-hidden />} title="No earnings">
                No requests were served in {RANGE_TEXTS[range]}.
              </EmptyState>
            ) : (
              <>
                <RangeSum range={range}>
                  <MoneyText of={sumMicro(data.map(({ earned_micro }) => earned_micro))} as="balance" />
                </RangeSum>
                <Chart
                  title={`Earnings in ${RANGE_TEXTS[range]} by ${split}`}
                  format={formatMoneyTick}
                  unit="USD"
                  {...chartOf(data)}
                />
              </>
            )
          }
        </LoadedQuery>
      </Card>
      <EarningsBreakdown by={split} query={query} nameOf={partName} />
    </>
  );
}
