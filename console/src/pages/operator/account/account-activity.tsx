/** Requests, errors and amounts of one account over a time range. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { AccountActivity } from "../../../api/answer-types.ts";
import { accountActivityQuery } from "../../../data/operator-account-page.ts";
import { parseMicro } from "../../../dollar-amounts.ts";
import { formatPercent } from "../../../locale.ts";
import { type BucketedRange, RANGE_TEXTS } from "../../../time-range.ts";
import { Card, Stat, StatGrid } from "../../../ui/card.tsx";
import { Chart } from "../../../ui/chart/chart.tsx";
import { ChartPlaceholder } from "../../../ui/chart/chart-placeholder.tsx";
import { stackAmounts } from "../../../ui/chart/stack-amounts.ts";
import { formatBucketTick, formatMoneyTick } from "../../../ui/chart/tick-labels.ts";
import { usePreviousPeriod } from "../../../ui/chart/use-previous-period.ts";
import { LoadedQuery } from "../../../ui/loading-states.tsx";
import { MoneyText } from "../../../ui/money-text.tsx";
import { CountText, formatCount } from "../../../ui/time-text.tsx";

const DAY_S = 86_400;
const ENDED = [
  { name: "Completed", colour: 1 },
  { name: "Failed", colour: 6 },
];

interface Props {
  id: string;
  range: BucketedRange;
  /** The control that chooses the range. */
  choice: ReactNode;
}

export function AccountActivityCard({ id, range, choice }: Props) {
  const activity = useQuery(accountActivityQuery(id, range));
  return (
    <Card title="Activity" aside={choice}>
      <LoadedQuery query={activity} loading={<ChartPlaceholder />}>
        {(found) => <Course id={id} activity={found} />}
      </LoadedQuery>
    </Card>
  );
}

function Course({ id, activity }: { id: string; activity: AccountActivity }) {
  const { kind, range, total, series, slot_s, from } = activity;
  const comparison = usePreviousPeriod(range);
  const before = useQuery({ ...accountActivityQuery(id, range, String(from)), ...comparison.query });
  const words = RANGE_TEXTS[range];
  const amount = kind === "builder" ? "Spend" : "Earnings";
  const labelOf = (atMs: number): string => formatBucketTick(slot_s === DAY_S ? "day" : "hour", atMs);
  const { earlier, ...amounts } = stackAmounts({
    ...amountsOf(series, amount),
    before: before.data && amountsOf(before.data.series, amount),
    nameOf: (part) => part,
    labelOf: (bucket) => labelOf(Number(bucket)),
  });
  const endings = (of: AccountActivity["series"]) =>
    of.map(({ at, requests, failed }) => ({
      label: labelOf(at * 1000),
      at: at * 1000,
      values: { Completed: requests - failed, Failed: failed },
    }));
  return (
    <div className="flex flex-col gap-5">
      <StatGrid label="Activity">
        <Stat label={amount} note={`in ${words}`}>
          <MoneyText of={total.amount_micro} as="balance" />
        </Stat>
        <Stat label={kind === "builder" ? "Requests" : "Requests served"} note={`in ${words}`}>
          <CountText of={total.requests} />
        </Stat>
        <Stat label="Errors" note={`${formatCount(total.failed)} failed, excluding client disconnects`}>
          {total.error_share === null ? "–" : formatPercent(total.error_share)}
        </Stat>
      </StatGrid>
      <div className="grid grid-cols-1 gap-5 xl:grid-cols-2">
        <Chart
          title={`${amount} in ${words}`}
          height={180}
          format={formatMoneyTick}
          unit="USD"
          {...amounts}
          before={comparison.of(earlier, before.error)}
        />
        <Chart
          title={`Requests in ${words}`}
          height={180}
          format={formatCount}
          unit="requests"
          whole
          series={ENDED}
          rows={endings(series)}
          before={comparison.of(before.data && endings(before.data.series), before.error)}
        />
      </div>
    </div>
  );
}

const amountsOf = (series: AccountActivity["series"], part: string) => ({
  amounts: series.map(({ at, amount_micro }) => ({ bucket: String(at * 1000), part, pico: parseMicro(amount_micro) })),
  buckets: series.map(({ at }) => String(at * 1000)),
});
