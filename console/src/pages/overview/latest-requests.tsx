/** The newest requests; new ones come in by themselves. */
import type { UseQueryResult } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { Activity } from "lucide-react";
import type { RequestList, RequestRecord } from "../../api/types.ts";
import { Card } from "../../ui/card.tsx";
import { Money } from "../../ui/money.tsx";
import { Outcome } from "../../ui/outcome.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";

const COLUMNS: Column<RequestRecord>[] = [
  {
    title: "When",
    cell: ({ created_at, model, outcome }) => (
      <>
        <span className="whitespace-nowrap">
          <Time at={created_at} as="ago" />
        </span>
        <span className="mt-0.5 flex flex-wrap items-center gap-x-2 gap-y-1 text-xs text-ink-soft sm:hidden">
          {model}
          <Outcome of={outcome} />
        </span>
      </>
    ),
  },
  { title: "Model", from: "sm", cell: ({ model }) => model ?? "–" },
  {
    title: "Key",
    from: "xl",
    className: "max-w-36",
    cell: ({ key }) => (
      <span title={key.name} className="block truncate">
        {key.name}
      </span>
    ),
  },
  { title: "Outcome", from: "sm", cell: ({ outcome }) => <Outcome of={outcome} /> },
  { title: "Charge", align: "right", cell: ({ charge_micro }) => <Money of={charge_micro} /> },
];

export function LatestRequests({ query }: { query: UseQueryResult<RequestList> }) {
  const navigate = useNavigate();
  return (
    <Card
      title="Latest requests"
      flush
      aside={
        <Link to="/requests" className="text-accent underline-offset-2 hover:underline">
          All requests
        </Link>
      }
    >
      <Loaded query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty icon={<Activity aria-hidden />} title="No requests yet">
              They appear here as they finish.
            </Empty>
          ) : (
            <Table
              label="Latest requests"
              columns={COLUMNS}
              rows={data}
              keyOf={({ id }) => id}
              onOpen={({ id }) => void navigate({ to: "/requests", search: { request: id } })}
            />
          )
        }
      </Loaded>
    </Card>
  );
}
