/** The operators' first page: the platform's status, pending decisions, performance, spending and balances. */
import { useQuery } from "@tanstack/react-query";
import { platformPerformanceQuery, triageQuery } from "../../../data/platform-overview.ts";
import { TIME_RANGES } from "../../../time-range.ts";
import { Card, PageHeader } from "../../../ui/card.tsx";
import { DataAge, LoadedQuery, Skeleton } from "../../../ui/loading-states.tsx";
import { PageSections } from "../../../ui/page-sections.tsx";
import { RangeChoice, useRange } from "../../../ui/range-choice.tsx";
import { CapacityTable } from "./capacity-table.tsx";
import { HeadlineFigures } from "./headline-figures.tsx";
import { IncidentsCard } from "./incidents-card.tsx";
import { LiveLoadCard } from "./live-load-card.tsx";
import { ModelTraffic } from "./model-traffic.tsx";
import { MoneySummary } from "./money-summary.tsx";
import { NodesToLookAt } from "./nodes-to-look-at.tsx";
import { OperatorInbox } from "./operator-inbox.tsx";
import { PlatformStatusCard } from "./platform-status-card.tsx";
import { SetupCard } from "./setup-card.tsx";
import { TopSpendersAndModels } from "./top-spenders-and-models.tsx";
import { usePlatformLoad } from "./use-platform-load.ts";

export function PlatformPage() {
  const [range, setRange] = useRange(TIME_RANGES, "24h");
  const query = useQuery(platformPerformanceQuery(range));
  const triage = useQuery(triageQuery);
  const load = usePlatformLoad();
  return (
    <>
      <PageHeader
        title="Platform"
        about="Shows whether requests are served, which decisions are waiting, and load, errors and balances."
        actions={<RangeChoice range={range} choices={TIME_RANGES} onChange={setRange} />}
      />
      <PageSections>
        <PlatformStatusCard query={triage} />
        {triage.data !== undefined && <OperatorInbox of={triage.data.inbox} age={<DataAge query={triage} />} />}
        <IncidentsCard />
        <SetupCard />
        <LoadedQuery query={query} loading={<Skeleton className="h-64 w-full" />}>
          {(performance) => <HeadlineFigures performance={performance} />}
        </LoadedQuery>
        <LiveLoadCard load={load} />
        {query.data !== undefined && (
          <>
            <NodesToLookAt of={query.data.nodes_to_look_at} />
            <ModelTraffic performance={query.data} />
            <TopSpendersAndModels performance={query.data} />
          </>
        )}
        {query.data !== undefined && <MoneySummary {...query.data} />}
        {/* This card comes last, so that no other card waits for the event stream. */}
        <Card title="Capacity by model" flush>
          {load.now === undefined ? <Skeleton className="m-4 h-40" /> : <CapacityTable load={load.now} />}
        </Card>
      </PageSections>
    </>
  );
}
