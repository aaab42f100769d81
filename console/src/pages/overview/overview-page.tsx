/** The builder's first page: money, spend over time, what is running, what went wrong. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useLiveRequests } from "../../data/live.ts";
import { balanceQuery, usageQuery } from "../../data/money.ts";
import { recentRequestsQuery } from "../../data/requests.ts";
import { parseMicro, sumMicro } from "../../money.ts";
import { startOfUtcMonth } from "../../time.ts";
import { buttonClasses } from "../../ui/button.tsx";
import { PageHeader, Stat, Stats } from "../../ui/card.tsx";
import { Money } from "../../ui/money.tsx";
import { Refused, Skeleton } from "../../ui/states.tsx";
import { Count, useToday } from "../../ui/time.tsx";
import { FirstCall } from "./first-call.tsx";
import { LatestRequests } from "./latest-requests.tsx";
import { Outcomes } from "./outcomes.tsx";
import { RangeChoice } from "./range-choice.tsx";
import type { Range } from "./spend.ts";
import { SpendCard } from "./spend-card.tsx";

const LATEST = 8;

export function OverviewPage() {
  const [range, setRange] = useState<Range>("24h");
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
      <div className="flex flex-col gap-5">
        <FirstCall none={recent.data?.data.length === 0} />
        <Figures />
        <SpendCard range={range} choice={<RangeChoice range={range} onChange={setRange} />} />
        <div className="grid gap-5 lg:grid-cols-[minmax(0,2fr)_minmax(0,1fr)]">
          <LatestRequests query={recent} />
          <Outcomes range={range} />
        </div>
      </div>
    </>
  );
}

function Figures() {
  const today = useToday();
  const balance = useQuery(balanceQuery);
  const month = useQuery(usageQuery({ by: "day", from: startOfUtcMonth(today.getTime()).toISOString() }));
  const live = useLiveRequests();
  const problem = balance.error ?? month.error;
  if (problem !== null && balance.data === undefined)
    return <Refused error={problem} again={() => void balance.refetch()} />;
  const days = month.data?.data;
  const day = today.toISOString().slice(0, 10);
  const ofToday = days?.find((row) => row.day === day);
  const requestsOfMonth = days?.reduce((sum, { requests }) => sum + requests, 0) ?? 0;
  return (
    <Stats label="At a glance">
      <Stat label="Available credit" note={<Held micro={balance.data?.held_micro} />}>
        {balance.data === undefined ? <Waiting /> : <Money of={balance.data.available_micro} as="balance" />}
      </Stat>
      <Stat label="Spend today" note={days && <Requests count={ofToday?.requests ?? 0} />}>
        {days === undefined ? <Waiting /> : <Money of={ofToday?.charge_micro ?? "0"} />}
      </Stat>
      <Stat label="Spend this month" note={days && <Requests count={requestsOfMonth} />}>
        {days === undefined ? <Waiting /> : <Money of={sumMicro(days.map(({ charge_micro }) => charge_micro))} />}
      </Stat>
      <Stat label="Running now" note={live === undefined ? "Connecting…" : <LiveNow />}>
        <span role="status">{live === undefined ? "–" : <Count of={live.in_flight} />}</span>
      </Stat>
    </Stats>
  );
}

function Held({ micro }: { micro: string | undefined }) {
  if (micro === undefined) return null;
  if (parseMicro(micro) === 0n) return "Nothing held";
  return (
    <>
      <Money of={micro} /> held by running requests
    </>
  );
}

const Requests = ({ count }: { count: number }) => (
  <>
    <Count of={count} /> {count === 1 ? "request" : "requests"}, UTC
  </>
);

const Waiting = () => <Skeleton className="my-1 h-6 w-24" />;

const LiveNow = () => (
  <span className="inline-flex items-center gap-1.5">
    <span aria-hidden className="size-1.5 rounded-full bg-good" />
    Live
  </span>
);
