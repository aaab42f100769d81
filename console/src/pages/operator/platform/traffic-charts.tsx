/** Requests, tokens and charges over time. */
import { ChartColumn } from "lucide-react";
import type { TrafficHour } from "../../../api/operator-types.ts";
import { sumMicro } from "../../../money.ts";
import { Card } from "../../../ui/card.tsx";
import { Chart } from "../../../ui/chart/chart.tsx";
import { bucketTick, moneyTick } from "../../../ui/chart/labels.ts";
import { stacked } from "../../../ui/chart/stacked.ts";
import { Money } from "../../../ui/money.tsx";
import { Empty } from "../../../ui/states.tsx";
import { Count, count } from "../../../ui/time.tsx";
import { charges, requestBars, type Span, tokenBars, tokensOf } from "./traffic.ts";

interface Props {
  traffic: TrafficHour[];
  span: Span;
  /** "the last 24 hours". */
  words: string;
}

export function TrafficCharts({ traffic, span, words }: Props) {
  if (traffic.length === 0) {
    return (
      <Card title="Traffic">
        <Empty icon={<ChartColumn aria-hidden />} title="No requests">
          Nothing was asked for in {words}.
        </Empty>
      </Card>
    );
  }
  const labelOf = (bucket: number): string => bucketTick(span.by, bucket);
  return (
    <div className="grid gap-5 xl:grid-cols-2">
      <Card title="Requests">
        <Sum words={words}>
          <Count of={traffic.reduce((sum, { requests }) => sum + requests, 0)} />
        </Sum>
        <Chart
          title={`Requests in ${words}, by how they ended`}
          format={count}
          whole
          {...requestBars(traffic, span, labelOf)}
        />
      </Card>
      <Card title="Tokens">
        <Sum words={words}>
          <Count of={traffic.reduce((sum, row) => sum + tokensOf(row), 0)} />
        </Sum>
        <Chart
          title={`Tokens in ${words}, of prompts and output`}
          format={count}
          whole
          {...tokenBars(traffic, span, labelOf)}
        />
      </Card>
      <Card title="Charged to builders" className="xl:col-span-2">
        <Sum words={words}>
          <Money of={sumMicro(traffic.map(({ charge_micro }) => charge_micro))} />
        </Sum>
        <Chart
          title={`Charged to builders in ${words}`}
          format={moneyTick}
          {...stacked({
            amounts: charges(traffic, span),
            buckets: span.buckets.map(String),
            nameOf: (part) => part,
            labelOf: (bucket) => labelOf(Number(bucket)),
            rounding: "up",
          })}
        />
      </Card>
    </div>
  );
}

const Sum = ({ words, children }: { words: string; children: React.ReactNode }) => (
  <p className="mb-3 text-ink-soft">
    <span className="text-lg font-semibold text-ink">{children}</span> in {words}
  </p>
);
