/** The statement: every ledger entry of the account, newest first. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ReceiptText } from "lucide-react";
import type { LedgerEntry } from "../../api/types.ts";
import { ledgerQuery } from "../../data/money.ts";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { Card } from "../../ui/card.tsx";
import { moneyColumn } from "../../ui/money.tsx";
import { PagedTable } from "../../ui/paged-table.tsx";
import { Empty } from "../../ui/states.tsx";
import type { Column } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";

export function StatementCard() {
  const ledger = useInfiniteQuery(ledgerQuery);
  return (
    <Card title="Statement" flush>
      <PagedTable
        query={ledger}
        label="Statement"
        columns={COLUMNS}
        keyOf={({ kind, request_id, transfer_id }) => `${kind} ${request_id ?? transfer_id}`}
        empty={
          <Empty icon={<ReceiptText aria-hidden />} title="No entries yet">
            Purchases, grants and charges appear here.
          </Empty>
        }
      />
    </Card>
  );
}

const KINDS: Record<LedgerEntry["kind"], Tone> = {
  charge: "neutral",
  grant: "good",
  purchase: "good",
  refund: "warn",
  dispute: "bad",
  payout: "neutral",
  setoff: "good",
};

const COLUMNS: Column<LedgerEntry>[] = [
  {
    title: "Time",
    cell: ({ at }) => (
      <span className="whitespace-nowrap">
        <Time at={at} />
      </span>
    ),
  },
  {
    title: "Type",
    className: "@max-lg:max-w-0 @max-lg:w-full",
    cell: (entry) => (
      <>
        <Badge tone={KINDS[entry.kind]}>{entry.kind}</Badge>
        <span className="mt-1 block @lg:hidden">
          <Description entry={entry} />
        </span>
      </>
    ),
  },
  {
    title: "Description",
    from: "sm",
    className: "max-w-0 w-1/2",
    cell: (entry) => <Description entry={entry} />,
  },
  moneyColumn({ title: "Amount", of: ({ amount_micro }) => amount_micro, signed: true }),
];

/** The request, or the reason that came with it. */
function Description({ entry: { request_id, reason } }: { entry: LedgerEntry }) {
  const payment = /^pack_\w+ bought \((\w+)\)$/.exec(reason ?? "")?.[1];
  if (request_id === null) {
    return (
      <span className="block truncate @max-lg:text-xs" title={reason ?? undefined}>
        {payment === undefined ? reason : <>Credits bought, payment {payment}</>}
      </span>
    );
  }
  return (
    <Link
      to="/requests"
      search={{ request: request_id }}
      className="block truncate font-mono text-xs text-accent underline-offset-2 hover:underline"
    >
      {request_id}
    </Link>
  );
}
