/** The builder's first page: balance, spending over time, requests in flight and errors. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import type { UsageRow } from "../../api/answer-types.ts";
import { balanceQuery, usageQuery } from "../../data/balance-and-usage.ts";
import { useIsStreamOpen, useLiveRequests } from "../../data/live-event-stream.ts";
import { performanceQuery } from "../../data/performance.ts";
import { recentRequestsQuery } from "../../data/requests.ts";
import { parseMicro, sumMicro, toChartDollars } from "../../dollar-amounts.ts";
import { PerformanceFigures } from "../../performance/performance-figures.tsx";
import { RefusedCalls } from "../../requests/refused-calls.tsx";
import { UnfundedNotice } from "../../requests/unfunded-notice.tsx";
import { BUCKETED_RANGES, type BucketedRange, computeBucketedSpan, RANGE_TEXTS } from "../../time-range.ts";
import { buttonClasses } from "../../ui/button.tsx";
import { PageHeader, Stat, StatGrid } from "../../ui/card.tsx";
import { Sparkline } from "../../ui/chart/sparkline.tsx";
import { LoadedStat } from "../../ui/loading-states.tsx";
import { MoneyText } from "../../ui/money-text.tsx";
import { FirstLoadPlaceholder, PageSections } from "../../ui/page-sections.tsx";
import { RangeChoice, useRange } from "../../ui/range-choice.tsx";
import { CountText, useHourStart, useUtcDayStart } from "../../ui/time-text.tsx";
import { daysBefore, startOfUtcMonth } from "../../utc-dates.ts";
import { FirstCallGuide } from "./first-call-guide.tsx";
import { LatestRequests } from "./latest-requests.tsx";
import { RequestOutcomesCard } from "./request-outcomes-card.tsx";
import { SpendByRequestLabel } from "./spend-by-request-label.tsx";
import { SpendCard } from "./spend-card.tsx";

const LATEST = 8;

export function OverviewPage() {
  const [range, setRange] = useRange(BUCKETED_RANGES, "24h");
  const recent = useQuery(recentRequestsQuery(LATEST));
  return (
    <>
      <PageHeader
        title="Overview"
        actions={
          <Link to="/credits" className={buttonClasses("plain")}>
            Add credits
          </Link>
        }
      />
      <PageSections>
        <FirstLoadPlaceholder query={recent} />
        <FirstCallGuide none={recent.data?.data.length === 0} />
        <Figures />
        <Lost range={range} />
        <SpendCard range={range} choice={<RangeChoice range={range} choices={BUCKETED_RANGES} onChange={setRange} />} />
        <SpendByRequestLabel range={range} />
        <HowItWent range={range} />
        <div className="grid grid-cols-1 gap-5 lg:grid-cols-[minmax(0,2fr)_minmax(0,1fr)]">
          <LatestRequests query={recent} />
          <RequestOutcomesCard range={range} />
        </div>
      </PageSections>
    </>
  );
}

function Lost({ range }: { range: BucketedRange }) {
  const hour = useHourStart();
  const from = useMemo(() => computeBucketedSpan(range, hour.getTime()).from.toISOString(), [range, hour]);
  const day = useMemo(() => computeBucketedSpan("24h", hour.getTime()).from.toISOString(), [hour]);
  return (
    <>
      <UnfundedNotice from={from} words={RANGE_TEXTS[range]} refusedFrom={day} />
      <RefusedCalls from={day} words={RANGE_TEXTS["24h"]} />
    </>
  );
}

/** Outcomes and speed of requests. Hidden until there are requests. */
function HowItWent({ range }: { range: BucketedRange }) {
  const performance = useQuery(performanceQuery({ range }));
  if (performance.data?.total.requests === 0) return null;
  return <PerformanceFigures query={performance} words={RANGE_TEXTS[range]} />;
}

function Figures() {
  const today = useUtcDayStart();
  const balance = useQuery(balanceQuery);
  const month = useQuery(usageQuery({ by: "day", from: startOfUtcMonth(today.getTime()).toISOString() }));
  const live = useLiveRequests();
  const open = useIsStreamOpen();
  const day = today.toISOString().slice(0, 10);
  return (
    <StatGrid label="At a glance">
      <LoadedStat query={balance} label="Available credit" note={({ held_micro }) => <Held micro={held_micro} />}>
        {({ available_micro }) => <MoneyText of={available_micro} as="balance" />}
      </LoadedStat>
      <LoadedStat
        query={month}
        label="Spend today"
        note={({ data }) => <Requests of={data.filter((row) => row.day === day)} since="midnight UTC" />}
      >
        {({ data }) => <MoneyText of={data.find((row) => row.day === day)?.charge_micro ?? "0"} as="balance" />}
      </LoadedStat>
      <LoadedStat
        query={month}
        label="Spend this month"
        note={({ data }) => (
          <>
            <Requests of={data} since="the 1st, UTC" />
            <Sparkline label="Spend by day, this month" values={byDay(data, today)} />
          </>
        )}
      >
        {({ data }) => <MoneyText of={sumMicro(data.map(({ charge_micro }) => charge_micro))} as="balance" />}
      </LoadedStat>
      <Stat label="Requests in flight" note={open ? <LiveNow /> : "Connecting…"}>
        <span role="status">{live === undefined || !open ? "–" : <CountText of={live.in_flight} />}</span>
      </Stat>
    </StatGrid>
  );
}

/** One value per day of the month so far; zero on days without charges. */
function byDay(rows: UsageRow[], today: Date): number[] {
  return Array.from({ length: today.getUTCDate() }, (_, i) => {
    const day = daysBefore(today, today.getUTCDate() - 1 - i)
      .toISOString()
      .slice(0, 10);
    return toChartDollars(parseMicro(rows.find((row) => row.day === day)?.charge_micro ?? "0"));
  });
}

function Held({ micro }: { micro: string }) {
  if (parseMicro(micro) === 0n) return "Nothing held";
  return (
    <>
      <MoneyText of={micro} /> held by requests in flight
    </>
  );
}

function Requests({ of, since }: { of: UsageRow[]; since: string }) {
  const count = of.reduce((sum, { requests }) => sum + requests, 0);
  return (
    <>
      <CountText of={count} /> {count === 1 ? "request" : "requests"} since {since}
    </>
  );
}

const LiveNow = () => (
  <span className="inline-flex items-center gap-1.5">
    <span aria-hidden className="size-1.5 rounded-full bg-good" />
    Live
  </span>
);
