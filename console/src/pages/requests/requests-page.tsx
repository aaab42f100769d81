/**
 * The request history. Filters are in the URL, further pages load on demand, details open beside the list, and matches
 * can be exported as CSV.
 */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import type { RequestFilter } from "../../api/answer-types.ts";
import { saveFile } from "../../api/api-client.ts";
import { useLiveRequests } from "../../data/live-event-stream.ts";
import { requestsQuery } from "../../data/requests.ts";
import { useMe } from "../../data/signed-in-session.ts";
import { asDate, formatUtcDay } from "../../format-time.ts";
import { formatCategoricalTerm } from "../../requests/filter-text.ts";
import { RefusedCalls } from "../../requests/refused-calls.tsx";
import { UnfundedNotice } from "../../requests/unfunded-notice.tsx";
import { RANGE_TEXTS } from "../../time-range.ts";
import { Button } from "../../ui/button.tsx";
import { Card, PageHeader } from "../../ui/card.tsx";
import { Activity, RefreshCw } from "../../ui/icons.tsx";
import { LoadMore } from "../../ui/load-more.tsx";
import { EmptyState } from "../../ui/loading-states.tsx";
import { MoneyText } from "../../ui/money-text.tsx";
import { PageSections } from "../../ui/page-sections.tsx";
import { PagedTable } from "../../ui/paged-table.tsx";
import { SaveButton } from "../../ui/save-button.tsx";
import { TimeText, useFiveMinuteStart } from "../../ui/time-text.tsx";
import { toastError } from "../../ui/toast.tsx";
import { COLUMN_TITLES, ColumnsMenu, defaultColumns, doColumnsFit, listChosenColumns } from "./column-choice.tsx";
import { FilterField } from "./filter-field.tsx";
import { LiveButton } from "./live-button.tsx";
import { RequestFilters } from "./request-filters.tsx";
import { RequestHistogramChart } from "./request-histogram.tsx";
import { RequestPane, useIsWideScreen } from "./request-pane.tsx";
import { RequestTotals } from "./request-totals.tsx";
import { extractView, isFiltered, limitViewToSpan, type RequestsView, startOfRange } from "./requests-search.ts";
import { readColumns, writeColumns } from "./saved-views.ts";
import { useRequestQueries } from "./use-request-queries.ts";
import { ViewsMenu } from "./views-menu.tsx";

export function RequestsPage() {
  const search = useSearch({ from: "/app/requests" });
  const navigate = useNavigate({ from: "/requests" });
  const person = useMe().identity.id;
  const view = extractView(search);
  const viewed = JSON.stringify(view);
  const fiveMinutes = useFiveMinuteStart();
  const [paused, setPaused] = useState<{ viewed: string; now: Date }>();
  // Live updates are paused only for the view in which the user paused them. Changing the view resumes them.
  const isPaused = paused?.viewed === viewed;
  const now = isPaused ? paused.now : fiveMinutes;
  const { read, wrong, isReady, filter, known, nameOf } = useRequestQueries(view, now);
  const asked = { enabled: isReady && !isPaused };
  const requests = useInfiniteQuery({ ...requestsQuery(filter, view.sort ?? "newest"), ...asked });
  const [kept, setKept] = useState(() => readColumns(store, person, COLUMN_TITLES));
  const columns = kept !== undefined && doColumnsFit(kept) ? kept : defaultColumns(known.labels.length > 0);
  const wide = useIsWideScreen();
  const filtered = isFiltered(view);
  const week = startOfRange("7d", now.getTime()).toISOString();
  const recently = view.from === undefined && view.to === undefined ? (view.range ?? "30d") : "30d";
  const change = (next: RequestsView, replace = true): void => void navigate({ search: next, replace });
  const open = (request: string | undefined): void =>
    void navigate({ search: { ...view, ...(request !== undefined && { request }) } });
  const withText = (q: string): void => {
    const { q: _before, ...rest } = view;
    change(q === "" ? rest : limitViewToSpan({ ...rest, q }), false);
  };
  const chooseColumns = (titles: string[] | undefined): void => {
    setKept(titles);
    try {
      writeColumns(store, person, titles);
    } catch (error) {
      toastError(error);
    }
  };
  const ids = requests.data?.pages.flatMap(({ data }) => data.map(({ id }) => id)) ?? [];
  return (
    <>
      <PageHeader
        title="Requests"
        about="Every request that reached a node or was rate-limited. Prompts and answers are never stored."
        actions={<SaveButton save={() => exportCsv(filter)}>Export CSV</SaveButton>}
      />
      <PageSections>
        <UnfundedNotice
          from={startOfRange(recently, now.getTime()).toISOString()}
          words={RANGE_TEXTS[recently]}
          refusedFrom={week}
        />
        <RefusedCalls from={week} words={RANGE_TEXTS["7d"]} />
        <div className="flex items-start gap-4">
          <Card flush className="min-w-0 flex-1">
            <RequestFilters
              view={view}
              onChange={change}
              field={
                // The key remounts the field after a filter change, which discards half-typed text.
                <FilterField
                  key={view.q ?? ""}
                  {...{ read, wrong, known, nameOf }}
                  onChange={withText}
                  onFound={open}
                />
              }
            >
              <LiveButton
                view={view}
                isPaused={isPaused}
                onPause={(pause) => setPaused(pause ? { viewed, now } : undefined)}
              />
              <ColumnsMenu chosen={columns} onChoose={chooseColumns} />
              <ViewsMenu person={person} view={view} onChoose={(chosen) => change(chosen, false)} />
            </RequestFilters>
            {wrong.length > 0 ? (
              <WrongFilter onClear={() => change({})} />
            ) : (
              <>
                <RequestHistogramChart
                  filter={filter}
                  {...asked}
                  onNarrow={(span) => {
                    const { range: _range, ...rest } = view;
                    change({ ...rest, ...span }, false);
                  }}
                  onOutcome={(outcome) =>
                    withText(`${view.q ?? ""} ${formatCategoricalTerm("outcome", outcome)}`.trim())
                  }
                />
                <RequestTotals filter={filter} {...asked} />
                <PagedTable
                  query={requests}
                  label="Requests"
                  columns={listChosenColumns(columns)}
                  keyOf={({ id }) => id}
                  onOpen={({ id }) => open(id)}
                  isOpen={({ id }) => id === search.request}
                  empty={
                    requests.hasNextPage ? (
                      <LoadMore query={requests} />
                    ) : (
                      <NoRequests filtered={filtered} onClear={() => change({})} />
                    )
                  }
                  // Retrying cannot help with a filter that the API refuses, so a button clears the filter.
                  action={filtered && <Button onClick={() => change({})}>Clear filters</Button>}
                  above={([newest]) => (
                    <Newer
                      first={newest?.id}
                      hidden={
                        (filtered && !isPaused) ||
                        view.sort !== undefined ||
                        (!isPaused && (requests.data?.pages.length ?? 0) < 2)
                      }
                      busy={requests.isRefetching}
                      show={() => (isPaused ? setPaused(undefined) : void requests.refetch())}
                    />
                  )}
                />
                <SearchedTo
                  at={requests.data?.pages.at(-1)?.searched_to}
                  charge={requests.data?.pages.at(-1)?.searched_to_charge_micro}
                />
                <KeptFrom at={requests.hasNextPage ? null : (requests.data?.pages.at(-1)?.kept_from ?? null)} />
              </>
            )}
          </Card>
          <RequestPane id={search.request} ids={ids} wide={wide} onOpen={open} />
        </div>
      </PageSections>
    </>
  );
}

const store = () => localStorage;

/** Says how far the search got when the API returned an incomplete page. The next page continues there. */
function SearchedTo({ at, charge }: { at: number | undefined; charge: string | undefined }) {
  if (at === undefined && charge === undefined) return null;
  return (
    <p role="status" className="border-t border-line px-4 py-3 text-center text-xs text-ink-soft">
      {at === undefined ? (
        <>
          All requests that cost at least <MoneyText of={charge ?? "0"} /> were searched.
        </>
      ) : (
        <>
          All requests since <TimeText at={at} as="full" /> were searched.
        </>
      )}{" "}
      Load more to continue the search, or shorten the time range.
    </p>
  );
}

const WrongFilter = ({ onClear }: { onClear: () => void }) => (
  <EmptyState
    icon={<Activity aria-hidden />}
    title="This filter cannot be used"
    action={<Button onClick={onClear}>Clear filters</Button>}
  >
    Correct the marked fields above to see the requests.
  </EmptyState>
);

function NoRequests({ filtered, onClear }: { filtered: boolean; onClear: () => void }) {
  if (!filtered) {
    return (
      <EmptyState icon={<Activity aria-hidden />} title="No requests yet">
        Requests made with your API keys appear here.
      </EmptyState>
    );
  }
  return (
    <EmptyState
      icon={<Activity aria-hidden />}
      title="No matching requests"
      action={<Button onClick={onClear}>Clear filters</Button>}
    >
      No requests match these filters.
    </EmptyState>
  );
}

/** Shown at the end of the list: older requests are not stored any more. */
function KeptFrom({ at }: { at: number | null }) {
  if (at === null) return null;
  return (
    <p className="border-t border-line px-4 py-3 text-center text-xs text-ink-soft">
      Requests before {formatUtcDay(dayOf(at))} UTC are no longer stored. Usage and the statement still include them.
    </p>
  );
}

/** Says that newer requests exist. They are not inserted, because the user is reading the loaded pages. */
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
  // Request IDs are ordered by time, so a greater ID is a newer request.
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

/** Exports all requests that match the filter. */
function exportCsv(query: RequestFilter): Promise<void> {
  return saveFile("requests.csv", "GET /console/api/requests.csv", { query });
}
