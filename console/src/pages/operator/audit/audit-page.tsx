/**
 * The audit log in sentences, newest first. It can be filtered by operator, action, subject and time, and exported as
 * CSV.
 */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { AuditFilter, OperatorAction } from "../../../api/answer-types.ts";
import { saveFile } from "../../../api/api-client.ts";
import { auditQuery } from "../../../data/platform-overview.ts";
import { Card, PageHeader } from "../../../ui/card.tsx";
import { ScrollText } from "../../../ui/icons.tsx";
import { EmptyState } from "../../../ui/loading-states.tsx";
import { PagedTable } from "../../../ui/paged-table.tsx";
import { SaveButton } from "../../../ui/save-button.tsx";
import type { Column } from "../../../ui/table.tsx";
import { TimeText } from "../../../ui/time-text.tsx";
import { AuditEntry, AuditOutcome } from "./audit-entry.tsx";
import { AuditFilters } from "./audit-filters.tsx";
import { convertToApiFilter, readAuditSearch } from "./audit-search.ts";

export function AuditPage() {
  const filter = readAuditSearch(useSearch({ from: "/app/operator/audit" }));
  const navigate = useNavigate({ from: "/operator/audit" });
  const asked = convertToApiFilter(filter);
  const audit = useInfiniteQuery(auditQuery(asked));
  const change = (next: AuditFilter): void => void navigate({ search: next, replace: true });
  const filtered = Object.keys(filter).length > 0;
  return (
    <>
      <PageHeader
        title="Audit log"
        about="Every operator action, recorded before it runs. Read-only."
        actions={
          <SaveButton save={() => saveFile("audit.csv", "GET /console/api/operator/audit.csv", { query: asked })}>
            Export CSV
          </SaveButton>
        }
      />
      <Card flush>
        <AuditFilters filter={filter} onChange={change} />
        <PagedTable
          query={audit}
          label="Audit log"
          columns={COLUMNS}
          keyOf={({ at, action, subject }, place) => `${at} ${action} ${subject} ${place}`}
          empty={
            <EmptyState icon={<ScrollText aria-hidden />} title={filtered ? "No matching actions" : "No actions yet"}>
              {filtered
                ? "No action matches these filters."
                : "Grants, suspensions, limits, quarantines and payouts appear here."}
            </EmptyState>
          }
        />
      </Card>
    </>
  );
}

const COLUMNS: Column<OperatorAction>[] = [
  {
    title: "Action",
    className: "w-full",
    cell: (action) => (
      <>
        <AuditEntry action={action} />
        <span className="mt-0.5 block text-xs text-ink-soft @2xl:hidden">
          <TimeText at={action.at} as="full" />
        </span>
      </>
    ),
  },
  {
    title: "Time",
    from: "md",
    cell: ({ at }) => (
      <span className="whitespace-nowrap">
        <TimeText at={at} />
      </span>
    ),
  },
  { title: "Outcome", align: "right", cell: ({ outcome }) => <AuditOutcome of={outcome} /> },
];
