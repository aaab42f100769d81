/** A builder's statement: the usage of each day and every transfer, with the balance after it. */
import { useInfiniteQuery } from "@tanstack/react-query";
import type { AccountStatementRow } from "../../../api/types.ts";
import { accountStatementQuery } from "../../../data/account-page.ts";
import { Badge } from "../../../ui/badge.tsx";
import { Card } from "../../../ui/card.tsx";
import { moneyColumn } from "../../../ui/money.tsx";
import { PagedTable } from "../../../ui/paged-table.tsx";
import { Empty } from "../../../ui/states.tsx";
import type { Column } from "../../../ui/table.tsx";
import { count, Time } from "../../../ui/time.tsx";

export function AccountStatement({ id }: { id: string }) {
  const statement = useInfiniteQuery(accountStatementQuery(id));
  return (
    <Card title="Statement" flush>
      <PagedTable
        query={statement}
        label="Statement"
        columns={COLUMNS}
        keyOf={({ day, at, kind }, place) => `${day ?? at} ${kind} ${place}`}
        empty={<Empty title="No movements">Nothing was granted, bought or spent.</Empty>}
      />
    </Card>
  );
}

const COLUMNS: Column<AccountStatementRow>[] = [
  {
    title: "When",
    cell: ({ day, at }) => (
      <span className="whitespace-nowrap">{at === null ? `${day} UTC` : <Time at={at} as="full" />}</span>
    ),
  },
  { title: "What", from: "sm", cell: ({ kind }) => <Badge>{kind}</Badge> },
  {
    title: "For",
    from: "md",
    className: "w-full",
    cell: ({ requests, reason }) => (
      <span className="wrap-anywhere">
        {requests === null ? reason : `${count(requests)} ${requests === 1 ? "request" : "requests"}`}
      </span>
    ),
  },
  moneyColumn({ title: "Amount", of: ({ amount_micro }) => amount_micro, signed: true }),
  moneyColumn({ title: "Balance", from: "sm", of: ({ balance_micro }) => balance_micro }),
];
