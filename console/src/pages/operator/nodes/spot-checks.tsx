/** Spot checks (verified real answers) of the last 30 days: by model with their cost, and by node with the evidence. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ModelChecks, NodeChecks } from "../../../api/answer-types.ts";
import { platformSpotChecksQuery } from "../../../data/platform-nodes.ts";
import { formatWithDecimals } from "../../../locale.ts";
import { formatSpotCheckCostShare } from "../../../nodes/spot-check-cost.ts";
import { Card } from "../../../ui/card.tsx";
import { ListChecks } from "../../../ui/icons.tsx";
import { EmptyState, LoadedQuery } from "../../../ui/loading-states.tsx";
import { moneyColumn } from "../../../ui/money-text.tsx";
import { type Column, Table } from "../../../ui/table.tsx";
import { CountText, TimeText } from "../../../ui/time-text.tsx";

export function SpotChecks() {
  const checks = useQuery(platformSpotChecksQuery);
  return (
    <Card title="Spot checks of the last 30 days" flush>
      <LoadedQuery query={checks}>
        {({ data, models }) =>
          models.length === 0 ? (
            <EmptyState icon={<ListChecks aria-hidden />} title="No spot checks yet">
              A sample of the nodes' answers is checked by nodes of other hosts.
            </EmptyState>
          ) : (
            <>
              <Table label="Spot checks by model" columns={MODELS} rows={models} keyOf={({ model }) => model} />
              <Table
                label="Spot checks by node"
                columns={NODES}
                rows={data}
                keyOf={({ node, model }) => `${node} ${model}`}
              />
            </>
          )
        }
      </LoadedQuery>
    </Card>
  );
}

const MODELS: Column<ModelChecks>[] = [
  { title: "Model", cell: ({ model }) => <span className="font-medium">{model}</span> },
  { title: "Checks", align: "right", cell: ({ checks }) => <CountText of={checks} /> },
  { title: "Bad", align: "right", cell: ({ bad }) => <CountText of={bad} /> },
  moneyColumn({ title: "Cost", from: "sm", of: ({ cost_micro }) => cost_micro }),
  moneyColumn({ title: "Charged", from: "md", of: ({ charged_micro }) => charged_micro }),
  { title: "Cost of revenue", from: "sm", align: "right", cell: (row) => formatSpotCheckCostShare(row) },
];

const NODES: Column<NodeChecks>[] = [
  {
    title: "Node",
    className: "max-w-0 w-full @lg:w-auto @lg:max-w-64",
    cell: ({ node, node_name, account_name }) => (
      <>
        <Link
          to="/operator/nodes"
          search={{ node }}
          className="block truncate font-medium text-accent underline-offset-2 hover:underline"
        >
          {node_name}
        </Link>
        <span className="block truncate text-xs text-ink-soft">{account_name}</span>
      </>
    ),
  },
  { title: "Model", from: "sm", cell: ({ model }) => model },
  { title: "Checks", align: "right", cell: ({ checks }) => <CountText of={checks} /> },
  { title: "Bad", align: "right", cell: ({ bad }) => <CountText of={bad} /> },
  {
    title: "Score",
    from: "md",
    align: "right",
    cell: ({ score }) => (score === null ? "–" : formatWithDecimals(score, 2)),
  },
  { title: "Evidence", from: "md", align: "right", cell: ({ evidence }) => evidence ?? "–" },
  moneyColumn({ title: "Cost", from: "lg", of: ({ cost_micro }) => cost_micro }),
  { title: "Last check", from: "lg", cell: ({ last_at }) => <TimeText at={last_at} /> },
];
