/** Earnings over time, stacked by node or model, with totals. */
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import type { EarningSum, EarningSumsQuery } from "../../../api/types.ts";
import { earningSumsQuery } from "../../../data/earnings.ts";
import { parseMicro, sumMicro } from "../../../money.ts";
import { bucketNames, RANGE_WORDS, SUM_RANGES, spanBefore, spanOf } from "../../../time-range.ts";
import { Card } from "../../../ui/card.tsx";
import { Chart } from "../../../ui/chart/chart.tsx";
import { ChartPlaceholder } from "../../../ui/chart/chart-placeholder.tsx";
import { bucketTick, moneyTick } from "../../../ui/chart/labels.ts";
import { RangeSum } from "../../../ui/chart/range-sum.tsx";
import { stackAmounts } from "../../../ui/chart/stacked.ts";
import { useBefore } from "../../../ui/chart/use-before.ts";
import { ChartColumn } from "../../../ui/icons.tsx";
import { Money } from "../../../ui/money.tsx";
import { RangeChoice, useRange } from "../../../ui/range-choice.tsx";
import { Segmented } from "../../../ui/segmented.tsx";
import { Empty, Loaded } from "../../../ui/states.tsx";
import { useThisHour } from "../../../ui/time.tsx";
import { EarningsBy } from "./earnings-by.tsx";

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
  const [range, setRange] = useRange(SUM_RANGES, "24h");
  const [split, setSplit] = useState<Split>("model");
  const hour = useThisHour();
  const span = useMemo(() => spanOf(range, hour.getTime()), [range, hour]);
  const { by } = span;
  const query = { from: span.from.toISOString(), ...(node !== undefined && { node }) };
  const sums = useQuery(earningSumsQuery({ ...query, by, split }));
  const comparison = useBefore(range);
  const earlierSpan = { from: spanBefore(span).from.toISOString(), to: query.from };
  const before = useQuery({ ...earningSumsQuery({ ...query, ...earlierSpan, by, split }), ...comparison.query });
  const partName = (part: string): string => (split === "node" ? nameOf(part) : part || "no model");
  const labelOf = (bucket: string): string => bucketTick(by, bucket);
  const amounts = (rows: EarningSum[]) =>
    rows.map((row) => ({ bucket: row[by] ?? "", part: row[split] ?? "", pico: parseMicro(row.earned_micro) }));
  const chartOf = (rows: EarningSum[]) => {
    const earlierSums = before.data && { amounts: amounts(before.data.data), buckets: bucketNames(spanBefore(span)) };
    const period = { amounts: amounts(rows), buckets: bucketNames(span), before: earlierSums };
    const { earlier, ...chart } = stackAmounts({ ...period, nameOf: partName, labelOf });
    return { ...chart, before: comparison.of(earlier, before.error) };
  };
  return (
    <>
      <Card
        title="Earned over time"
        aside={
          <div className="flex flex-wrap gap-2">
            <Segmented label="Group by" value={split} options={SPLITS} onChange={setSplit} />
            <RangeChoice range={range} choices={SUM_RANGES} onChange={setRange} />
          </div>
        }
      >
        <Loaded query={sums} loading={<ChartPlaceholder />}>
          {({ data }) =>
            data.length === 0 ? (
              <Empty icon={<ChartColumn aria-hidden />} title="No earnings">
                No requests were served in {RANGE_WORDS[range]}.
              </Empty>
            ) : (
              <>
                <RangeSum range={range}>
                  <Money of={sumMicro(data.map(({ earned_micro }) => earned_micro))} as="balance" />
                </RangeSum>
                <Chart
                  title={`Earnings in ${RANGE_WORDS[range]} by ${split}`}
                  format={moneyTick}
                  unit="USD"
                  {...chartOf(data)}
                />
              </>
            )
          }
        </Loaded>
      </Card>
      <EarningsBy by={split} query={query} nameOf={partName} />
    </>
  );
}
