/** What operators did, newest first. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { ScrollText } from "lucide-react";
import type { OperatorAction } from "../../../api/types.ts";
import { auditQuery } from "../../../data/platform.ts";
import { Badge } from "../../../ui/badge.tsx";
import { Card, PageHeader } from "../../../ui/card.tsx";
import { PagedTable } from "../../../ui/paged-table.tsx";
import { Empty } from "../../../ui/states.tsx";
import type { Column } from "../../../ui/table.tsx";
import { Time } from "../../../ui/time.tsx";
import { actionWords, detailWords } from "./words.ts";

export function AuditPage() {
  const audit = useInfiniteQuery(auditQuery);
  return (
    <>
      <PageHeader title="Audit log" about="Every operator action, recorded before it is carried out. Read-only." />
      <Card flush>
        <PagedTable
          query={audit}
          label="Audit log"
          columns={COLUMNS}
          keyOf={({ at, action, subject }, place) => `${at} ${action} ${subject} ${place}`}
          empty={
            <Empty icon={<ScrollText aria-hidden />} title="No actions yet">
              Grants, suspensions, limits, quarantines and payouts appear here.
            </Empty>
          }
        />
      </Card>
    </>
  );
}

const COLUMNS: Column<OperatorAction>[] = [
  {
    title: "Action",
    className: "max-w-0 w-full @2xl:w-auto @2xl:max-w-80",
    cell: ({ at, action, subject, details, operator }) => (
      <>
        <span className="font-medium">{actionWords(action)}</span>
        <code className="block truncate font-mono text-xs text-ink-soft" title={subject}>
          {subject}
        </code>
        <span className="block text-xs break-words @4xl:hidden">{detailWords(details)}</span>
        <span className="block truncate text-xs text-ink-soft @2xl:hidden">
          <Time at={at} as="full" />, {operator}
        </span>
      </>
    ),
  },
  {
    title: "Details",
    from: "lg",
    className: "max-w-sm",
    cell: ({ details }) => <span className="break-words">{detailWords(details)}</span>,
  },
  {
    title: "Operator",
    from: "md",
    className: "max-w-48",
    cell: ({ operator }) => <span className="block truncate">{operator}</span>,
  },
  {
    title: "Time",
    from: "md",
    cell: ({ at }) => (
      <span className="whitespace-nowrap">
        <Time at={at} />
      </span>
    ),
  },
  { title: "Outcome", align: "right", cell: ({ outcome }) => <End of={outcome} /> },
];

function End({ of }: { of: string | null }) {
  if (of === null) return <Badge>in progress</Badge>;
  return <Badge tone={of === "done" ? "good" : "bad"}>{of}</Badge>;
}
