/** Requests by outcome, and errors by code. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import type { UsageRow } from "../../api/answer-types.ts";
import { usageQuery } from "../../data/balance-and-usage.ts";
import { formatWithDecimals } from "../../locale.ts";
import { formatCategoricalTerm } from "../../requests/filter-text.ts";
import { OutcomeBadge } from "../../requests/outcome-badge.tsx";
import { describeOutcome } from "../../requests/outcome-names.ts";
import { type BucketedRange, computeBucketedSpan, RANGE_TEXTS } from "../../time-range.ts";
import { Card } from "../../ui/card.tsx";
import { CircleCheck } from "../../ui/icons.tsx";
import { EmptyState, LoadedQuery } from "../../ui/loading-states.tsx";
import { CountText, useHourStart } from "../../ui/time-text.tsx";
import { isRequestRange } from "../requests/requests-search.ts";

export function RequestOutcomesCard({ range }: { range: BucketedRange }) {
  const hour = useHourStart();
  const from = useMemo(() => computeBucketedSpan(range, hour.getTime()).from.toISOString(), [range, hour]);
  const usage = useQuery(usageQuery({ by: "outcome", from }));
  return (
    <Card title="Errors by code" flush>
      <LoadedQuery query={usage}>{({ data }) => <Endings rows={data} range={range} />}</LoadedQuery>
    </Card>
  );
}

function Endings({ rows, range }: { rows: UsageRow[]; range: BucketedRange }) {
  const words = RANGE_TEXTS[range];
  const total = rows.reduce((sum, { requests }) => sum + requests, 0);
  const closed = rows.find(({ outcome }) => outcome === "client_closed")?.requests ?? 0;
  const errors = rows
    .filter(({ outcome }) => outcome !== "ok" && outcome !== "client_closed")
    .sort((a, b) => b.requests - a.requests);
  if (errors.length === 0) {
    return (
      <EmptyState icon={<CircleCheck aria-hidden />} title={total === 0 ? "No requests" : "No errors"}>
        In {words}
        {total > 0 && (
          <>
            , {closed === 0 && "all "}
            <CountText of={total - closed} /> requests completed
          </>
        )}
        .{closed > 0 && <Closed count={closed} />}
      </EmptyState>
    );
  }
  const failed = errors.reduce((sum, { requests }) => sum + requests, 0);
  // Excludes requests whose client disconnected, like the error rate beside it.
  const ended = total - closed;
  return (
    <>
      <p className="px-4 pb-3 text-ink-soft sm:px-5">
        <CountText of={failed} /> of <CountText of={ended} /> requests in {words}.
        {closed > 0 && <Closed count={closed} />}
      </p>
      <ul className="border-t border-line">
        {errors.map(({ outcome = "", requests }) => (
          <li key={outcome} className="border-b border-line last:border-b-0">
            <Link
              to="/requests"
              search={{ q: formatCategoricalTerm("outcome", outcome), ...(isRequestRange(range) && { range }) }}
              title={describeOutcome(outcome).says}
              className="flex flex-wrap items-center justify-between gap-x-3 gap-y-1 px-4 py-2.5 hover:bg-sunken/60 sm:px-5"
            >
              <OutcomeBadge of={outcome} />
              <span className="ml-auto whitespace-nowrap">
                <CountText of={requests} />{" "}
                <span className="text-ink-soft">({formatWithDecimals((requests / ended) * 100, 1)} %)</span>
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </>
  );
}

/** Shown separately, because a client that disconnects is neither a client error nor a platform error. */
const Closed = ({ count }: { count: number }) => (
  <>
    {" "}
    <Link
      to="/requests"
      search={{ q: formatCategoricalTerm("outcome", "client_closed") }}
      className="text-accent underline underline-offset-2"
    >
      <CountText of={count} />
    </Link>{" "}
    {count === 1 ? "client" : "clients"} disconnected.
  </>
);
