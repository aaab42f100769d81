/** Spending over time, stacked by model or key. */
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo, useState } from "react";
import type { UsageRow } from "../../api/answer-types.ts";
import { usageQuery } from "../../data/balance-and-usage.ts";
import { keysQuery } from "../../data/keys.ts";
import { sumMicro } from "../../dollar-amounts.ts";
import { findKeyName } from "../../keys/key-names.ts";
import { listSpendParts, type SpendSplit, stackSpend } from "../../requests/spend-charts.ts";
import { type BucketedRange, computeBucketedSpan, computePreviousSpan, RANGE_TEXTS } from "../../time-range.ts";
import { Card } from "../../ui/card.tsx";
import { BarList } from "../../ui/chart/bar-list.tsx";
import { Chart } from "../../ui/chart/chart.tsx";
import { ChartPlaceholder } from "../../ui/chart/chart-placeholder.tsx";
import { RangeSum } from "../../ui/chart/range-sum.tsx";
import { formatBucketTick, formatMoneyTick } from "../../ui/chart/tick-labels.ts";
import { usePreviousPeriod } from "../../ui/chart/use-previous-period.ts";
import { ChartColumn } from "../../ui/icons.tsx";
import { EmptyState, LoadedQuery } from "../../ui/loading-states.tsx";
import { MoneyText } from "../../ui/money-text.tsx";
import { SegmentedChoice } from "../../ui/segmented-choice.tsx";
import { useHourStart } from "../../ui/time-text.tsx";

const SPLITS: { value: SpendSplit; label: string }[] = [
  { value: "model", label: "By model" },
  { value: "key", label: "By key" },
];

export function SpendCard({ range, choice }: { range: BucketedRange; choice: ReactNode }) {
  const [split, setSplit] = useState<SpendSplit>("model");
  const hour = useHourStart();
  const span = useMemo(() => computeBucketedSpan(range, hour.getTime()), [range, hour]);
  const usage = useQuery(usageQuery({ by: span.by, split, from: span.from.toISOString() }));
  const comparison = usePreviousPeriod(range);
  const before = useQuery({
    ...usageQuery({
      by: span.by,
      split,
      from: computePreviousSpan(span).from.toISOString(),
      to: span.from.toISOString(),
    }),
    ...comparison.query,
  });
  const { data: keys } = useQuery({ ...keysQuery, enabled: split === "key" });
  const nameOf = (part: string): string => (split === "model" ? part || "no model" : findKeyName(keys?.data, part));
  const chartOf = (rows: UsageRow[]) => {
    const labelOf = (bucket: string): string => formatBucketTick(span.by, bucket);
    const { earlier, ...chart } = stackSpend({ rows, span, split, nameOf, labelOf, before: before.data?.data });
    return { ...chart, before: comparison.of(earlier, before.error) };
  };
  return (
    <Card
      title="Spend"
      aside={
        <div className="flex flex-wrap gap-2">
          <SegmentedChoice label="Group by" value={split} options={SPLITS} onChange={setSplit} />
          {choice}
        </div>
      }
    >
      <LoadedQuery query={usage} loading={<ChartPlaceholder />}>
        {({ data }) =>
          sumMicro(data.map(({ charge_micro }) => charge_micro)) === 0n ? (
            <EmptyState icon={<ChartColumn aria-hidden />} title="No spend">
              No charges in {RANGE_TEXTS[range]}.
            </EmptyState>
          ) : (
            <>
              <RangeSum range={range}>
                <MoneyText of={sumMicro(data.map(({ charge_micro }) => charge_micro))} as="balance" />
              </RangeSum>
              <Chart
                title={`Spend in ${RANGE_TEXTS[range]} by ${split}`}
                format={formatMoneyTick}
                unit="USD"
                {...chartOf(data)}
              />
              <div className="mt-4">
                <BarList label={`Spend by ${split}`} items={listSpendParts({ rows: data, split, nameOf })} />
              </div>
            </>
          )
        }
      </LoadedQuery>
    </Card>
  );
}
