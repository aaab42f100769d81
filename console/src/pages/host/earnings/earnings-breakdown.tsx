/** A table of total earnings by model or by node, for the chart's time range. */
import { useQuery } from "@tanstack/react-query";
import type { EarningSum, EarningSumsQuery } from "../../../api/answer-types.ts";
import { earningSumsQuery } from "../../../data/earnings.ts";
import { parseMicro } from "../../../dollar-amounts.ts";
import { Card } from "../../../ui/card.tsx";
import { LoadedQuery } from "../../../ui/loading-states.tsx";
import { moneyColumn } from "../../../ui/money-text.tsx";
import { type Column, Table } from "../../../ui/table.tsx";
import { CountText } from "../../../ui/time-text.tsx";

interface Props {
  by: "model" | "node";
  /** The time range, and the node if only one is shown. */
  query: Pick<EarningSumsQuery, "from" | "node">;
  nameOf: (part: string) => string;
}

export function EarningsBreakdown({ by, query, nameOf }: Props) {
  const sums = useQuery(earningSumsQuery({ ...query, by }));
  const columns: Column<EarningSum>[] = [
    {
      title: by === "model" ? "Model" : "Node",
      className: "max-w-0 w-full",
      cell: (row) => <span className="block truncate font-medium">{nameOf(row[by] ?? "")}</span>,
    },
    { title: "Requests", align: "right", cell: ({ requests }) => <CountText of={requests} /> },
    { title: "Tokens in", from: "lg", align: "right", cell: ({ prompt_tokens }) => <CountText of={prompt_tokens} /> },
    { title: "Tokens out", from: "lg", align: "right", cell: (row) => <CountText of={row.completion_tokens} /> },
    moneyColumn({ title: "From your own requests", from: "md", of: ({ own_micro }) => own_micro, total: true }),
    moneyColumn({ title: "Earned", of: ({ earned_micro }) => earned_micro, total: true }),
  ];
  return (
    <LoadedQuery query={sums}>
      {({ data }) =>
        data.length > 0 && (
          <Card title={`By ${by}`} flush>
            <Table
              label={`Earnings by ${by}`}
              columns={columns}
              rows={data.toSorted((a, b) => (parseMicro(a.earned_micro) < parseMicro(b.earned_micro) ? 1 : -1))}
              keyOf={(row) => row[by] ?? ""}
            />
          </Card>
        )
      }
    </LoadedQuery>
  );
}
