/** The host's withheld shares, each with its request and reason. Hidden if there are none. */
import { useInfiniteQuery } from "@tanstack/react-query";
import type { WithheldShare } from "../../../api/answer-types.ts";
import { withheldQuery } from "../../../data/earnings.ts";
import { Card } from "../../../ui/card.tsx";
import { moneyColumn } from "../../../ui/money-text.tsx";
import { FirstLoadPlaceholder } from "../../../ui/page-sections.tsx";
import { PagedTable } from "../../../ui/paged-table.tsx";
import type { Column } from "../../../ui/table.tsx";
import { TimeText } from "../../../ui/time-text.tsx";
import { ReceiptButton } from "./earning-columns.tsx";

interface Props {
  node: string | undefined;
  nameOf: (node: string) => string;
}

export function WithheldShareTable({ node, nameOf }: Props) {
  const shares = useInfiniteQuery(withheldQuery(node === undefined ? {} : { node }));
  if (shares.error === null && (shares.data?.pages[0]?.data.length ?? 0) === 0)
    return <FirstLoadPlaceholder query={shares} />;
  return (
    <Card title="Withheld shares" flush>
      <PagedTable
        query={shares}
        label="Withheld shares"
        columns={columnsFor(nameOf)}
        keyOf={({ request_id }) => request_id}
        faded={({ released_at }) => released_at !== null}
        empty={null}
      />
    </Card>
  );
}

const columnsFor = (nameOf: Props["nameOf"]): Column<WithheldShare>[] => [
  {
    title: "Withheld",
    cell: ({ withheld_at, request_id }) => (
      <>
        <span className="font-medium whitespace-nowrap">
          <TimeText at={withheld_at} />
        </span>
        <code className="block font-mono text-xs break-all text-ink-soft">{request_id}</code>
      </>
    ),
  },
  {
    title: "Node",
    from: "md",
    className: "max-w-40",
    cell: ({ node }) => <span className="block truncate">{nameOf(node)}</span>,
  },
  { title: "Model", from: "lg", cell: ({ model }) => model ?? <span className="text-ink-soft">–</span> },
  {
    title: "Reason",
    from: "sm",
    cell: ({ explanation, taken_back, released_at, note }) => (
      <>
        {explanation}
        {taken_back && <span className="text-ink-soft"> The amount was credited to you first and withheld later.</span>}
        {released_at !== null && (
          <span className="block text-xs text-ink-soft">
            Released <TimeText at={released_at} as="day" />
            {note !== null && `: ${note}`}
          </span>
        )}
      </>
    ),
  },
  moneyColumn({ title: "Share", of: ({ amount_micro }) => amount_micro }),
  {
    title: "Receipt",
    hideTitle: true,
    align: "right",
    cell: ({ request_id, outcome }) => outcome !== null && <ReceiptButton requestId={request_id} />,
  },
];
