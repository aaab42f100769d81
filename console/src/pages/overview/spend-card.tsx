/** Spending over time, stacked by model or key. */
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo, useState } from "react";
import type { UsageRow } from "../../api/types.ts";
import { keysQuery } from "../../data/keys.ts";
import { usageQuery } from "../../data/money.ts";
import { keyName } from "../../keys/key-names.ts";
import { sumMicro } from "../../money.ts";
import { type Split, spendParts, stackSpend } from "../../requests/spend.ts";
import { RANGE_WORDS, type SumRange, spanBefore, spanOf } from "../../time-range.ts";
import { Card } from "../../ui/card.tsx";
import { BarList } from "../../ui/chart/bar-list.tsx";
import { Chart } from "../../ui/chart/chart.tsx";
import { ChartPlaceholder } from "../../ui/chart/chart-placeholder.tsx";
import { bucketTick, moneyTick } from "../../ui/chart/labels.ts";
import { RangeSum } from "../../ui/chart/range-sum.tsx";
import { useBefore } from "../../ui/chart/use-before.ts";
import { ChartColumn } from "../../ui/icons.tsx";
import { Money } from "../../ui/money.tsx";
import { Segmented } from "../../ui/segmented.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { useThisHour } from "../../ui/time.tsx";

const SPLITS: { value: Split; label: string }[] = [
  { value: "model", label: "By model" },
  { value: "key", label: "By key" },
];

export function SpendCard({ range, choice }: { range: SumRange; choice: ReactNode }) {
  const [split, setSplit] = useState<Split>("model");
  const hour = useThisHour();
  const span = useMemo(() => spanOf(range, hour.getTime()), [range, hour]);
  const usage = useQuery(usageQuery({ by: span.by, split, from: span.from.toISOString() }));
  const comparison = useBefore(range);
  const before = useQuery({
    ...usageQuery({ by: span.by, split, from: spanBefore(span).from.toISOString(), to: span.from.toISOString() }),
    ...comparison.query,
  });
  const { data: keys } = useQuery({ ...keysQuery, enabled: split === "key" });
  const nameOf = (part: string): string => (split === "model" ? part || "no model" : keyName(keys?.data, part));
  const chartOf = (rows: UsageRow[]) => {
    const labelOf = (bucket: string): string => bucketTick(span.by, bucket);
    const { earlier, ...chart } = stackSpend({ rows, span, split, nameOf, labelOf, before: before.data?.data });
    return { ...chart, before: comparison.of(earlier, before.error) };
  };
  return (
    <Card
      title="Spend"
      aside={
        <div className="flex flex-wrap gap-2">
          <Segmented label="Group by" value={split} options={SPLITS} onChange={setSplit} />
          {choice}
        </div>
      }
    >
      <Loaded query={usage} loading={<ChartPlaceholder />}>
        {({ data }) =>
          sumMicro(data.map(({ charge_micro }) => charge_micro)) === 0n ? (
            <Empty icon={<ChartColumn aria-hidden />} title="No spend">
              No charges in {RANGE_WORDS[range]}.
            </Empty>
          ) : (
            <>
              <RangeSum range={range}>
                <Money of={sumMicro(data.map(({ charge_micro }) => charge_micro))} as="balance" />
              </RangeSum>
              <Chart
                title={`Spend in ${RANGE_WORDS[range]} by ${split}`}
                format={moneyTick}
                unit="USD"
                {...chartOf(data)}
              />
              <div className="mt-4">
                <BarList label={`Spend by ${split}`} items={spendParts({ rows: data, split, nameOf })} />
              </div>
            </>
          )
        }
      </Loaded>
    </Card>
  );
}
