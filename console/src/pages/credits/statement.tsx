/**
 * The statement, newest first: a row for each day of usage, which expands into the day's requests, and a row for each
 * transfer.
 */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { StatementRow } from "../../api/answer-types.ts";
import { saveFile } from "../../api/api-client.ts";
import { statementQuery } from "../../data/credits.ts";
import { formatUtcDay } from "../../format-time.ts";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { Card } from "../../ui/card.tsx";
import { ChevronRight, ReceiptText } from "../../ui/icons.tsx";
import { joinClasses } from "../../ui/join-classes.ts";
import { EmptyState } from "../../ui/loading-states.tsx";
import { moneyColumn } from "../../ui/money-text.tsx";
import { MonthMenu } from "../../ui/month-menu.tsx";
import { PagedTable } from "../../ui/paged-table.tsx";
import { SaveButton } from "../../ui/save-button.tsx";
import type { Column } from "../../ui/table.tsx";
import { CountText, formatCount, TimeText } from "../../ui/time-text.tsx";
import { DayRequests } from "./day-requests.tsx";

export function StatementCard() {
  const statement = useInfiniteQuery(statementQuery);
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set());
  const fold = (day: string): void => setUnfolded((days) => days.symmetricDifference(new Set([day])));
  return (
    <Card
      title="Statement"
      flush
      aside={
        <div className="flex flex-wrap gap-2">
          <MonthMenu
            save={(month) => saveFile(`invoice-${month}.pdf`, "GET /console/api/invoice.pdf", { query: { month } })}
          >
            Invoice
          </MonthMenu>
          <SaveButton save={() => saveFile("statement.csv", "GET /console/api/statement.csv")}>Export CSV</SaveButton>
        </div>
      }
    >
      <PagedTable
        query={statement}
        label="Statement"
        columns={columnsOf(unfolded, fold)}
        keyOf={({ kind, day, transfer_id }) => `${kind} ${day ?? transfer_id}`}
        below={({ day }) => (day !== null && unfolded.has(day) ? <DayRequests day={day} /> : undefined)}
        empty={
          <EmptyState icon={<ReceiptText aria-hidden />} title="No entries yet">
            Purchases, grants and daily usage appear here.
          </EmptyState>
        }
      />
    </Card>
  );
}

const KINDS: Record<StatementRow["kind"], Tone> = {
  usage: "neutral",
  grant: "good",
  purchase: "good",
  refund: "warn",
  dispute: "bad",
  payout: "neutral",
  setoff: "good",
  // Transfers that only host accounts have.
  withhold: "bad",
  release: "good",
  verification: "good",
};

const columnsOf = (unfolded: ReadonlySet<string>, fold: (day: string) => void): Column<StatementRow>[] => [
  {
    title: "Date",
    cell: ({ day, at, kind }) =>
      day === null ? (
        <span className="block pl-6">
          <span className="whitespace-nowrap">{at !== null && <TimeText at={at} />}</span>
          <span className="block text-xs text-ink-soft @lg:hidden">{kind}</span>
        </span>
      ) : (
        <button
          type="button"
          aria-expanded={unfolded.has(day)}
          onClick={() => fold(day)}
          className="inline-flex items-center gap-2 rounded-sm text-left font-medium whitespace-nowrap"
        >
          <ChevronRight
            aria-hidden
            className={joinClasses(
              "size-4 shrink-0 text-ink-soft transition-transform",
              unfolded.has(day) && "rotate-90",
            )}
          />
          <span>
            {formatUtcDay(day)} <span className="font-normal text-ink-soft">UTC</span>
          </span>
        </button>
      ),
  },
  {
    title: "Type",
    from: "sm",
    cell: ({ kind }) => <Badge tone={KINDS[kind]}>{kind}</Badge>,
  },
  {
    title: "Description",
    from: "lg",
    className: "max-w-0 w-2/5",
    cell: (row) => <Description row={row} />,
  },
  moneyColumn({ title: "Amount", of: ({ amount_micro }) => amount_micro, signed: true }),
  moneyColumn({ title: "Balance", of: ({ balance_micro }) => balance_micro, from: "sm" }),
];

/** The day's requests and tokens, or the reason of a transfer. */
function Description({ row: { requests, prompt_tokens, completion_tokens, reason } }: { row: StatementRow }) {
  if (requests !== null) {
    return (
      <span className="block truncate text-ink-soft">
        <CountText of={requests} /> {requests === 1 ? "request" : "requests"}, {formatCount(prompt_tokens ?? 0)} tokens
        in, {formatCount(completion_tokens ?? 0)} out
      </span>
    );
  }
  return (
    <span className="block truncate" title={reason ?? undefined}>
      {reason}
    </span>
  );
}
