/** The requests behind one day's row of the statement. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { RequestRecord } from "../../api/answer-types.ts";
import { requestsQuery } from "../../data/requests.ts";
import {
  CHARGE_COLUMN,
  KEY_COLUMN,
  MODEL_COLUMN,
  OUTCOME_COLUMN,
  timeColumn,
} from "../../requests/request-columns.tsx";
import { Button } from "../../ui/button.tsx";
import { LoadedQuery } from "../../ui/loading-states.tsx";
import { type Column, Table } from "../../ui/table.tsx";

const DAY_MS = 86_400_000;

export function DayRequests({ day }: { day: string }) {
  const to = new Date(Date.parse(day) + DAY_MS).toISOString().slice(0, 10);
  const requests = useInfiniteQuery(requestsQuery({ from: day, to }, "newest"));
  return (
    <LoadedQuery query={requests}>
      {({ pages }) =>
        isGone(day, pages.at(-1)?.kept_from ?? null) ? (
          <p className="border-l-2 border-accent bg-sunken/40 px-4 py-3 text-ink-soft">
            Requests from this day are no longer stored. Their total cost is kept.
          </p>
        ) : (
          <div className="border-l-2 border-accent bg-sunken/40">
            <Table
              label={`Requests on ${day}`}
              columns={COLUMNS}
              rows={pages.flatMap(({ data }) => data)}
              keyOf={({ id }) => id}
            />
            {requests.hasNextPage && (
              <p className="border-t border-line px-4 py-2 text-center">
                <Button
                  look="quiet"
                  size="small"
                  busy={requests.isFetchingNextPage}
                  onClick={() => void requests.fetchNextPage()}
                >
                  Load more requests
                </Button>
              </p>
            )}
          </div>
        )
      }
    </LoadedQuery>
  );
}

/** Whether the day's requests were deleted. The history is deleted by whole months, so no day is deleted in part. */
const isGone = (day: string, keptFrom: number | null): boolean =>
  keptFrom !== null && Date.parse(day) < keptFrom * 1000;

const COLUMNS: Column<RequestRecord>[] = [
  timeColumn("short"),
  {
    title: "Request",
    from: "md",
    className: "max-w-0 w-1/3",
    cell: ({ id }) => (
      <Link
        to="/requests"
        search={{ request: id }}
        className="block truncate font-mono text-xs text-accent underline-offset-2 hover:underline"
      >
        {id}
      </Link>
    ),
  },
  MODEL_COLUMN,
  { ...KEY_COLUMN, from: "lg" },
  OUTCOME_COLUMN,
  CHARGE_COLUMN,
];
