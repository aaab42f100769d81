/** The platform at a glance: load as it happens, money, traffic, capacity by model. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { PlatformOverview } from "../../../api/types.ts";
import { overviewQuery } from "../../../data/platform.ts";
import { SUM_RANGES, spanOf } from "../../../time-range.ts";
import { Card, PageHeader, Stat, Stats } from "../../../ui/card.tsx";
import { Money } from "../../../ui/money.tsx";
import { RangeChoice, useRange } from "../../../ui/range-choice.tsx";
import { Loaded, Skeleton } from "../../../ui/states.tsx";
import { Count, useThisHour } from "../../../ui/time.tsx";
import { CapacityTable } from "./capacity-table.tsx";
import { LedgerNotice } from "./ledger-notice.tsx";
import { LiveCard } from "./live-card.tsx";
import { TrafficCharts } from "./traffic-charts.tsx";
import { usePlatformLoad } from "./use-load.ts";

export function PlatformPage() {
  const [range, setRange] = useRange(SUM_RANGES, "24h");
  const hour = useThisHour();
  const span = useMemo(() => spanOf(range, hour.getTime()), [range, hour]);
  const overview = useQuery(overviewQuery(span.from.toISOString()));
  const load = usePlatformLoad();
  return (
    <>
      <PageHeader
        title="Platform"
        about="Live load, traffic, capacity and balances."
        actions={<RangeChoice range={range} choices={SUM_RANGES} onChange={setRange} />}
      />
      <div className="flex flex-col gap-5">
        <Loaded query={overview} loading={<Skeleton className="h-28 w-full" />}>
          {(found) => <MoneyFigures overview={found} />}
        </Loaded>
        <LiveCard load={load} />
        <Card title="Capacity by model" flush>
          <Loaded query={overview}>
            {({ capacity }) => <CapacityTable capacity={load.now?.capacity ?? capacity} />}
          </Loaded>
        </Card>
        <Loaded query={overview} loading={<Skeleton className="h-80 w-full" />}>
          {({ traffic }) => <TrafficCharts traffic={traffic} span={span} range={range} />}
        </Loaded>
        <LedgerNotice />
      </div>
    </>
  );
}

function MoneyFigures({ overview: { money, accounts } }: { overview: PlatformOverview }) {
  return (
    <Stats label="Money and accounts">
      <Stat label="Builders' credit" note={<Held micro={money.held_micro} />}>
        <Money of={money.builder_credit_micro} as="balance" />
      </Stat>
      <Stat label="Owed to hosts" note="Earned and not paid out">
        <Money of={money.hosts_owed_micro} as="balance" />
      </Stat>
      <Stat label="Liabilities" note="Builders' credit plus owed to hosts">
        <Money of={money.liabilities_micro} as="balance" />
      </Stat>
      <Stat label="Platform revenue" note="All time">
        <Money of={money.platform_revenue_micro} as="balance" />
      </Stat>
      <Stat
        label="Accounts"
        note={
          <>
            <Count of={accounts.builders} /> {accounts.builders === 1 ? "builder" : "builders"},{" "}
            <Count of={accounts.hosts} /> {accounts.hosts === 1 ? "host" : "hosts"}
            {accounts.suspended > 0 && `, ${accounts.suspended} suspended`}
          </>
        }
      >
        <Count of={accounts.builders + accounts.hosts} />
      </Stat>
    </Stats>
  );
}

const Held = ({ micro }: { micro: string }) => (
  <>
    <Money of={micro} /> held by requests in flight
  </>
);
