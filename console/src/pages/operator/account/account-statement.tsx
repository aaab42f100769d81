/** A builder's statement: a row for each day's usage and for each transfer, with the balance after it. */
import { useInfiniteQuery } from "@tanstack/react-query";
import type { AccountStatementRow } from "../../../api/answer-types.ts";
import { accountStatementQuery } from "../../../data/operator-account-page.ts";
import { formatUtcDay } from "../../../format-time.ts";
import { Badge } from "../../../ui/badge.tsx";
import { Card } from "../../../ui/card.tsx";
import { EmptyState } from "../../../ui/loading-states.tsx";
import { moneyColumn } from "../../../ui/money-text.tsx";
import { PagedTable } from "../../../ui/paged-table.tsx";
import type { Column } from "../../../ui/table.tsx";
import { formatCount, TimeText } from "../../../ui/time-text.tsx";

export function AccountStatement({ id }: { id: string }) {
  const statement = useInfiniteQuery(accountStatementQuery(id));
  return (
    <Card title="Statement" flush>
      <PagedTable
        query={statement}
        label="Statement"
        columns={COLUMNS}
        keyOf={({ day, at, kind }, place) => `${day ?? at} ${kind} ${place}`}
        empty={<EmptyState title="No entries yet">Purchases, grants and daily usage appear here.</EmptyState>}
      />
    </Card>
  );
}

const purposeOf = ({ requests, reason }: AccountStatementRow): string =>
  requests === null ? (reason ?? "") : `${formatCount(requests)} ${requests === 1 ? "request" : "requests"}`;

const COLUMNS: Column<AccountStatementRow>[] = [
  {
    title: "Date",
    cell: (row) => (
      <>
        <span className="whitespace-nowrap">
          {row.day === null ? row.at !== null && <TimeText at={row.at} as="full" /> : `${formatUtcDay(row.day)} UTC`}
        </span>
        <span className="block text-xs wrap-anywhere text-ink-soft @2xl:hidden">
          {row.kind}: {purposeOf(row)}
        </span>
      </>
    ),
  },
  { title: "Type", from: "sm", cell: ({ kind }) => <Badge>{kind}</Badge> },
  {
    title: "Description",
    from: "md",
    className: "w-full",
    cell: (row) => <span className="wrap-anywhere">{purposeOf(row)}</span>,
  },
  moneyColumn({ title: "Amount", of: ({ amount_micro }) => amount_micro, signed: true }),
  moneyColumn({ title: "Balance", from: "sm", of: ({ balance_micro }) => balance_micro }),
];
