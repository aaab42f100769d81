/** Spot checks of a node: its answers that other hosts' nodes verified, each with score and verdict. */
import type { SpotCheck } from "../api/answer-types.ts";
import { formatWithDecimals } from "../locale.ts";
import { Badge, type Tone } from "../ui/badge.tsx";
import { ListChecks } from "../ui/icons.tsx";
import { EmptyState } from "../ui/loading-states.tsx";
import { PagedTable, type PagedTableProps } from "../ui/paged-table.tsx";
import type { Column } from "../ui/table.tsx";
import { TimeText } from "../ui/time-text.tsx";

export function SpotCheckTable({ query }: Pick<PagedTableProps<SpotCheck>, "query">) {
  return (
    <PagedTable
      query={query}
      label="Spot checks"
      columns={COLUMNS}
      keyOf={({ request_id, checked_at }) => `${request_id} ${checked_at}`}
      empty={
        <EmptyState icon={<ListChecks aria-hidden />} title="No spot checks yet">
          A sample of the node's answers is checked by nodes of other hosts.
        </EmptyState>
      }
    />
  );
}

const TONES: Record<SpotCheck["verdict"], Tone> = {
  ok: "good",
  bad: "bad",
  disputed: "neutral",
  unconfirmed: "warn",
  odd: "neutral",
  unjudged: "neutral",
};

const COLUMNS: Column<SpotCheck>[] = [
  {
    title: "Checked",
    cell: ({ checked_at, model }) => (
      <>
        <span className="font-medium whitespace-nowrap">
          <TimeText at={checked_at} />
        </span>
        <span className="block text-xs text-ink-soft @lg:hidden">{model}</span>
      </>
    ),
  },
  { title: "Model", from: "sm", cell: ({ model }) => model },
  {
    title: "Verdict",
    cell: ({ verdict, explanation }) => (
      <>
        <Badge tone={TONES[verdict]}>{verdict}</Badge>
        <span className="mt-0.5 block text-xs text-ink-soft">{explanation}</span>
      </>
    ),
  },
  {
    title: "Score",
    from: "sm",
    align: "right",
    cell: ({ score, method }) => (
      <span title={`Method: ${method}`}>{score === null ? "–" : formatWithDecimals(score, 2)}</span>
    ),
  },
  {
    title: "Request",
    from: "lg",
    cell: ({ request_id }) => <code className="font-mono text-xs">{request_id}</code>,
  },
];
