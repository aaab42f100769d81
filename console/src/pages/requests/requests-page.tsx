/** The request history: filters in the address bar, endless pages, details in a drawer, CSV. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Activity, RefreshCw } from "lucide-react";
import { saveFile } from "../../api/client.ts";
import type { RequestRecord } from "../../api/types.ts";
import { useLiveRequests } from "../../data/live.ts";
import { requestsQuery } from "../../data/requests.ts";
import {
  CHARGE_COLUMN,
  KEY_COLUMN,
  MODEL_COLUMN,
  OUTCOME_COLUMN,
  timeColumn,
} from "../../requests/request-columns.tsx";
import { Button } from "../../ui/button.tsx";
import { Card, PageHeader } from "../../ui/card.tsx";
import { PagedTable } from "../../ui/paged-table.tsx";
import { SaveButton } from "../../ui/save-button.tsx";
import { Empty } from "../../ui/states.tsx";
import type { Column } from "../../ui/table.tsx";
import { Count, Span } from "../../ui/time.tsx";
import { RequestDrawer } from "./request-drawer.tsx";
import { RequestFilters } from "./request-filters.tsx";
import { apiFilterOf, filterOf, type RequestsSearch } from "./search.ts";

export function RequestsPage() {
  const search = useSearch({ from: "/app/requests" });
  const navigate = useNavigate({ from: "/requests" });
  const filter = filterOf(search);
  const filtered = Object.keys(filter).length > 0;
  const requests = useInfiniteQuery(requestsQuery(apiFilterOf(filter)));
  const change = (next: RequestsSearch): void => void navigate({ search: next, replace: true });
  const open = (request: string | undefined): void =>
    void navigate({ search: { ...filter, ...(request !== undefined && { request }) } });
  return (
    <>
      <PageHeader
        title="Requests"
        about="Every request that reached a node or was rate-limited. Prompts and answers are never stored."
        actions={<SaveButton save={() => exportCsv(search)}>Export CSV</SaveButton>}
      />
      <Card flush>
        <RequestFilters filter={filter} onChange={change} />
        <PagedTable
          query={requests}
          label="Requests"
          columns={COLUMNS}
          keyOf={({ id }) => id}
          onOpen={({ id }) => open(id)}
          isOpen={({ id }) => id === search.request}
          empty={<NoRequests filtered={filtered} onClear={() => change({})} />}
          // A filter that the API refuses is refused again and again.
          action={filtered && <Button onClick={() => change({})}>Clear filters</Button>}
          above={([newest]) => (
            <Newer
              first={newest?.id}
              hidden={filtered || (requests.data?.pages.length ?? 0) < 2}
              busy={requests.isRefetching}
              show={() => void requests.refetch()}
            />
          )}
        />
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
      No request matches these filters.
    </Empty>
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

/** What the list shows, all of it. */
function exportCsv(search: RequestsSearch): Promise<void> {
  return saveFile("requests.csv", "GET /console/api/requests.csv", { query: apiFilterOf(filterOf(search)) });
}
