/** Requests, tokens and charges over time. */
import { ChartColumn } from "lucide-react";
import type { TrafficHour } from "../../../api/types.ts";
import { sumMicro } from "../../../money.ts";
import { RANGE_WORDS, type Span, type TimeRange } from "../../../time-range.ts";
import { Card } from "../../../ui/card.tsx";
import { Chart } from "../../../ui/chart/chart.tsx";
import { bucketTick, moneyTick } from "../../../ui/chart/labels.ts";
import { RangeSum } from "../../../ui/chart/range-sum.tsx";
import { stacked } from "../../../ui/chart/stacked.ts";
import { Money } from "../../../ui/money.tsx";
import { Empty } from "../../../ui/states.tsx";
import { Count, count } from "../../../ui/time.tsx";
import { charges, requestBars, tokenBars, tokensOf } from "./traffic.ts";

interface Props {
  traffic: TrafficHour[];
  span: Span;
  range: TimeRange;
}

export function TrafficCharts({ traffic, span, range }: Props) {
  const words = RANGE_WORDS[range];
  if (traffic.length === 0) {
    return (
      <Card title="Traffic">
        <Empty icon={<ChartColumn aria-hidden />} title="No requests">
          None in {words}.
        </Empty>
      </Card>
    );
  }
  const labelOf = (bucket: number): string => bucketTick(span.by, bucket);
  return (
    <div className="grid gap-5 xl:grid-cols-2">
      <Card title="Requests">
        <RangeSum range={range}>
          <Count of={traffic.reduce((sum, { requests }) => sum + requests, 0)} />
        </RangeSum>
        <Chart
          title={`Requests in ${words} by outcome`}
          format={count}
          whole
          {...requestBars(traffic, span, labelOf)}
        />
      </Card>
      <Card title="Tokens">
        <RangeSum range={range}>
          <Count of={traffic.reduce((sum, row) => sum + tokensOf(row), 0)} />
        </RangeSum>
        <Chart
          title={`Prompt and output tokens in ${words}`}
          format={count}
          whole
          {...tokenBars(traffic, span, labelOf)}
        />
      </Card>
      <Card title="Charged to builders" className="xl:col-span-2">
        <RangeSum range={range}>
          <Money of={sumMicro(traffic.map(({ charge_micro }) => charge_micro))} as="balance" />
        </RangeSum>
        <Chart
          title={`Charged to builders in ${words}`}
          format={moneyTick}
          {...stacked({
            amounts: charges(traffic, span),
            buckets: span.starts.map((start) => String(start.getTime())),
            nameOf: (part) => part,
            labelOf: (bucket) => labelOf(Number(bucket)),
          })}
        />
      </Card>
    </div>
  );
}
