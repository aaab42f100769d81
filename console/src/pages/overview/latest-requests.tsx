/** The newest requests, updated automatically. */
import type { UseQueryResult } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import type { RequestList, RequestRecord } from "../../api/answer-types.ts";
import {
  CHARGE_COLUMN,
  KEY_COLUMN,
  MODEL_COLUMN,
  OUTCOME_COLUMN,
  timeColumn,
} from "../../requests/request-columns.tsx";
import { Card } from "../../ui/card.tsx";
import { Activity } from "../../ui/icons.tsx";
import { EmptyState, LoadedQuery } from "../../ui/loading-states.tsx";
import { type Column, Table } from "../../ui/table.tsx";

const COLUMNS: Column<RequestRecord>[] = [
  timeColumn("ago"),
  MODEL_COLUMN,
  { ...KEY_COLUMN, from: "md" },
  OUTCOME_COLUMN,
  CHARGE_COLUMN,
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
      <LoadedQuery query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <EmptyState icon={<Activity aria-hidden />} title="No requests yet">
              Requests appear here as they complete.
            </EmptyState>
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
      </LoadedQuery>
    </Card>
  );
}
