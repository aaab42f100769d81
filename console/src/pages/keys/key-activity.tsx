/** A key's activity: spending by day and model, outcomes and speed, and the latest requests. */
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import type { RequestRecord, UsageRow } from "../../api/answer-types.ts";
import { usageQuery } from "../../data/balance-and-usage.ts";
import { performanceQuery } from "../../data/performance.ts";
import { recentRequestsQuery } from "../../data/requests.ts";
import { sumMicro } from "../../dollar-amounts.ts";
import { formatErrorShare, formatMilliseconds } from "../../performance/performance-figures.tsx";
import { formatCategoricalTerm } from "../../requests/filter-text.ts";
import { OutcomeBadge } from "../../requests/outcome-badge.tsx";
import { describeOutcome } from "../../requests/outcome-names.ts";
import { CHARGE_COLUMN, MODEL_COLUMN, OUTCOME_COLUMN, timeColumn } from "../../requests/request-columns.tsx";
import { stackSpend } from "../../requests/spend-charts.ts";
import { computeBucketedSpan, computePreviousSpan, RANGE_TEXTS } from "../../time-range.ts";
import { Chart } from "../../ui/chart/chart.tsx";
import { ChartPlaceholder } from "../../ui/chart/chart-placeholder.tsx";
import { RangeSum } from "../../ui/chart/range-sum.tsx";
import { formatBucketTick, formatMoneyTick } from "../../ui/chart/tick-labels.ts";
import { usePreviousPeriod } from "../../ui/chart/use-previous-period.ts";
import { DrawerSection, Property, PropertyList } from "../../ui/drawer.tsx";
import { LoadedQuery, Skeleton } from "../../ui/loading-states.tsx";
import { MoneyText } from "../../ui/money-text.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { CountText, useHourStart } from "../../ui/time-text.tsx";

const RANGE = "30d";
const LATEST = 5;
const HEIGHT = 180;

export function KeySpend({ id }: { id: string }) {
  const hour = useHourStart();
  const span = useMemo(() => computeBucketedSpan(RANGE, hour.getTime()), [hour]);
  const from = span.from.toISOString();
  const spend = useQuery(usageQuery({ by: "day", split: "model", key: id, from }));
  const comparison = usePreviousPeriod(RANGE);
  const before = useQuery({
    ...usageQuery({ by: "day", split: "model", key: id, from: computePreviousSpan(span).from.toISOString(), to: from }),
    ...comparison.query,
  });
  const outcomes = useQuery(usageQuery({ by: "outcome", key: id, from }));
  return (
    <>
      <DrawerSection title="Spend">
        <LoadedQuery query={spend} loading={<ChartPlaceholder height={HEIGHT} />}>
          {({ data }) => {
            const sum = sumMicro(data.map(({ charge_micro }) => charge_micro));
            if (sum === 0n) return <p className="text-ink-soft">No charges in {RANGE_TEXTS[RANGE]}.</p>;
            const labelOf = (bucket: string): string => formatBucketTick("day", bucket);
            const nameOf = (model: string): string => model || "no model";
            const stack = { rows: data, span, split: "model", nameOf, labelOf, before: before.data?.data } as const;
            const { earlier, ...chart } = stackSpend(stack);
            return (
              <>
                <RangeSum range={RANGE}>
                  <MoneyText of={sum} as="balance" />
                </RangeSum>
                <Chart
                  kind="bars"
                  title={`Spend in ${RANGE_TEXTS[RANGE]} by model`}
                  format={formatMoneyTick}
                  unit="USD"
                  height={HEIGHT}
                  {...chart}
                  before={comparison.of(earlier, before.error)}
                />
              </>
            );
          }}
        </LoadedQuery>
      </DrawerSection>
      <DrawerSection title="Requests">
        <LoadedQuery query={outcomes} loading={<Skeleton className="h-16 w-full" />}>
          {({ data }) => <Endings id={id} rows={data} />}
        </LoadedQuery>
      </DrawerSection>
      <KeyPerformance id={id} />
    </>
  );
}

/** The figures exclude requests refused by a limit; the list of outcomes shows those. */
function KeyPerformance({ id }: { id: string }) {
  const performance = useQuery(performanceQuery({ range: RANGE, key: id }));
  return (
    <DrawerSection title="Performance">
      <LoadedQuery query={performance} loading={<Skeleton className="h-20 w-full" />}>
        {({ total }) =>
          total.requests === 0 ? (
            <p className="text-ink-soft">No requests finished in {RANGE_TEXTS[RANGE]}.</p>
          ) : (
            <>
              <PropertyList>
                <Property name="First token, p95">{formatMilliseconds(total.ttft_ms.p95)}</Property>
                <Property name="Duration, p95">{formatMilliseconds(total.duration_ms.p95)}</Property>
                <Property name="Error rate">{formatErrorShare(total)}</Property>
              </PropertyList>
              <Link
                to="/performance"
                search={{ key: id }}
                className="mt-2.5 inline-block text-accent underline-offset-2 hover:underline"
              >
                Performance of this key
              </Link>
            </>
          )
        }
      </LoadedQuery>
    </DrawerSection>
  );
}

function Endings({ id, rows }: { id: string; rows: UsageRow[] }) {
  const count = (some: UsageRow[]): number => some.reduce((sum, { requests }) => sum + requests, 0);
  const total = count(rows);
  if (total === 0) return <p className="text-ink-soft">No requests in {RANGE_TEXTS[RANGE]}.</p>;
  const others = rows.filter(({ outcome }) => outcome !== "ok").sort((a, b) => b.requests - a.requests);
  return (
    <>
      <p>
        <CountText of={total} /> <span className="text-ink-soft">in {RANGE_TEXTS[RANGE]}</span>
      </p>
      {others.length > 0 && (
        <ul aria-label="Failed requests by outcome" className="mt-2.5 flex flex-wrap gap-x-4 gap-y-1.5">
          {others.map(({ outcome = "", requests }) => (
            <li key={outcome}>
              <Link
                to="/requests"
                search={{ q: `${formatCategoricalTerm("key", id)} ${formatCategoricalTerm("outcome", outcome)}` }}
                title={describeOutcome(outcome).says}
                className="inline-flex items-center gap-1.5 rounded-sm hover:underline"
              >
                <OutcomeBadge of={outcome} />
                <CountText of={requests} />
              </Link>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

const COLUMNS: Column<RequestRecord>[] = [timeColumn("ago"), MODEL_COLUMN, OUTCOME_COLUMN, CHARGE_COLUMN];

export function KeyRequests({ id }: { id: string }) {
  const navigate = useNavigate();
  const latest = useQuery(recentRequestsQuery(LATEST, id));
  return (
    <DrawerSection title="Latest requests">
      <LoadedQuery query={latest}>
        {({ data }) =>
          data.length === 0 ? (
            <p className="text-ink-soft">No requests yet.</p>
          ) : (
            <>
              <div className="overflow-hidden rounded-md border border-line">
                <Table
                  label="Latest requests"
                  columns={COLUMNS}
                  rows={data}
                  keyOf={(request) => request.id}
                  onOpen={(request) =>
                    void navigate({
                      to: "/requests",
                      search: { q: formatCategoricalTerm("key", id), request: request.id },
                    })
                  }
                />
              </div>
              <Link
                to="/requests"
                search={{ q: formatCategoricalTerm("key", id) }}
                className="mt-2.5 inline-block text-accent underline-offset-2 hover:underline"
              >
                All requests with this key
              </Link>
            </>
          )
        }
      </LoadedQuery>
    </DrawerSection>
  );
}
