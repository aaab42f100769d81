/** The request history: filters in the address bar, endless pages, details in a drawer, CSV. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { saveFile } from "../../api/client.ts";
import type { RequestFilter, RequestRecord } from "../../api/types.ts";
import { useLiveRequests } from "../../data/live.ts";
import { usageQuery } from "../../data/money.ts";
import { requestsQuery } from "../../data/requests.ts";
import { RefusedCalls } from "../../requests/refused-calls.tsx";
import {
  CHARGE_COLUMN,
  KEY_COLUMN,
  MODEL_COLUMN,
  OUTCOME_COLUMN,
  timeColumn,
} from "../../requests/request-columns.tsx";
import { UnfundedNotice } from "../../requests/unfunded-notice.tsx";
import { asDate, utcDay } from "../../time.ts";
import { RANGE_WORDS } from "../../time-range.ts";
import { Button } from "../../ui/button.tsx";
import { Card, PageHeader } from "../../ui/card.tsx";
import { Activity, RefreshCw } from "../../ui/icons.tsx";
import { PagedTable } from "../../ui/paged-table.tsx";
import { SaveButton } from "../../ui/save-button.tsx";
import { Empty } from "../../ui/states.tsx";
import type { Column } from "../../ui/table.tsx";
import { Count, Span, useFiveMinutes, useToday } from "../../ui/time.tsx";
import { daysBefore } from "../../utc.ts";
import { RequestDrawer } from "./request-drawer.tsx";
import { RequestFilters } from "./request-filters.tsx";
import { apiFilterOf, filterCount, type RequestsView, startOfRange, viewOf } from "./search.ts";
import { Totals } from "./totals.tsx";

/** Labels of the last weeks are offered to choose from. */
const LABEL_DAYS = 90;

export function RequestsPage() {
  const search = useSearch({ from: "/app/requests" });
  const navigate = useNavigate({ from: "/requests" });
  const view = viewOf(search);
  const filtered = filterCount(view) > 0;
  const now = useFiveMinutes();
  const filter = useMemo(() => apiFilterOf(viewOf(search), now.getTime()), [search, now]);
  const requests = useInfiniteQuery(requestsQuery(filter, view.sort ?? "newest"));
  const labels = useLabels();
  const week = startOfRange("7d", now.getTime()).toISOString();
  const recently = view.from === undefined && view.to === undefined ? (view.range ?? "30d") : "30d";
  const change = (next: RequestsView): void => void navigate({ search: next, replace: true });
  const open = (request: string | undefined): void =>
    void navigate({ search: { ...view, ...(request !== undefined && { request }) } });
  return (
    <>
      <PageHeader
        title="Requests"
        about="Every request that reached a node or was rate-limited. Prompts and answers are never stored."
        actions={<SaveButton save={() => exportCsv(filter)}>Export CSV</SaveButton>}
      />
      <div className="mb-5 flex flex-col gap-5 empty:hidden">
        <UnfundedNotice
          from={startOfRange(recently, now.getTime()).toISOString()}
          words={RANGE_WORDS[recently]}
          refusedFrom={week}
        />
        <RefusedCalls from={week} words={RANGE_WORDS["7d"]} />
      </div>
      <Card flush>
        <RequestFilters filter={view} labels={labels} onChange={change} onFound={open} />
        <Totals filter={filter} />
        <PagedTable
          query={requests}
          label="Requests"
          columns={labels.length > 0 ? WITH_LABELS : COLUMNS}
          keyOf={({ id }) => id}
          onOpen={({ id }) => open(id)}
          isOpen={({ id }) => id === search.request}
          empty={<NoRequests filtered={filtered} onClear={() => change({})} />}
          // A filter that the API refuses is refused again and again.
          action={filtered && <Button onClick={() => change({})}>Clear filters</Button>}
          above={([newest]) => (
            <Newer
              first={newest?.id}
              hidden={filtered || view.sort !== undefined || (requests.data?.pages.length ?? 0) < 2}
              busy={requests.isRefetching}
              show={() => void requests.refetch()}
            />
          )}
        />
        <KeptFrom at={requests.hasNextPage ? null : (requests.data?.pages.at(-1)?.kept_from ?? null)} />
      </Card>
      <RequestDrawer id={search.request} onClose={() => open(undefined)} />
    </>
  );
}

const COLUMNS: Column<RequestRecord>[] = [
  timeColumn("short"),
  MODEL_COLUMN,
  { ...KEY_COLUMN, from: "lg" },
  OUTCOME_COLUMN,
  {
    title: "Tokens",
    from: "md",
    align: "right",
    cell: ({ usage }) => (
      <span className="whitespace-nowrap">
        <Count of={usage.prompt_tokens} /> <span className="text-ink-soft">in</span>{" "}
        <Count of={usage.completion_tokens} /> <span className="text-ink-soft">out</span>
      </span>
    ),
  },
  { title: "First token", from: "xl", align: "right", cell: ({ ttft_ms }) => <Span ms={ttft_ms} /> },
  { title: "Duration", from: "lg", align: "right", cell: ({ duration_ms }) => <Span ms={duration_ms} /> },
  CHARGE_COLUMN,
];

const WITH_LABELS = COLUMNS.toSpliced(3, 0, {
  title: "Label",
  from: "xl",
  className: "max-w-36",
  cell: ({ label }) =>
    label === null ? (
      <span className="text-ink-soft">–</span>
    ) : (
      <span title={label} className="block truncate">
        {label}
      </span>
    ),
});

/** What cost most first, as far as there are any. */
function useLabels(): string[] {
  const today = useToday();
  const from = daysBefore(today, LABEL_DAYS).toISOString();
  const { data } = useQuery(usageQuery({ by: "label", from }));
  return useMemo(() => (data?.data ?? []).flatMap(({ label }) => (typeof label === "string" ? [label] : [])), [data]);
}

function NoRequests({ filtered, onClear }: { filtered: boolean; onClear: () => void }) {
  if (!filtered) {
    return (
      <Empty icon={<Activity aria-hidden />} title="No requests yet">
        Requests made with your API keys appear here.
      </Empty>
    );
  }
  return (
    <Empty
      icon={<Activity aria-hidden />}
      title="No matching requests"
      action={<Button onClick={onClear}>Clear filters</Button>}
    >
      No requests match these filters.
    </Empty>
  );
}

/** Where the list ends because nothing older is stored. */
function KeptFrom({ at }: { at: number | null }) {
  if (at === null) return null;
  return (
    <p className="border-t border-line px-4 py-3 text-center text-xs text-ink-soft">
      Requests before {utcDay(dayOf(at))} UTC are no longer stored. Usage and the statement still include them.
    </p>
  );
}

/** Further pages stay as they are while somebody reads them; this says that there is more at the top. */
function Newer({
  first,
  hidden,
  busy,
  show,
}: {
  first: string | undefined;
  hidden: boolean;
  busy: boolean;
  show: () => void;
}) {
  const latest = useLiveRequests()?.latest;
  // Ids are time-ordered: a greater one is a newer one.
  const newer = !hidden && latest !== undefined && latest !== null && first !== undefined && latest > first;
  return (
    <div role="status" className="empty:hidden">
      {newer && (
        <button
          type="button"
          onClick={show}
          disabled={busy}
          className="flex w-full items-center justify-center gap-2 border-b border-line bg-accent-soft/60 py-2 text-xs font-medium text-accent hover:bg-accent-soft"
        >
          <RefreshCw aria-hidden className={busy ? "size-3.5 animate-spin" : "size-3.5"} />
          Show newer requests
        </button>
      )}
    </div>
  );
}

const dayOf = (unixSeconds: number): string => asDate(unixSeconds).toISOString().slice(0, 10);

/** What the list shows, all of it. */
function exportCsv(query: RequestFilter): Promise<void> {
  return saveFile("requests.csv", "GET /console/api/requests.csv", { query });
}
