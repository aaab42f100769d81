/** A host's nodes, with links to their details on the operators' nodes page. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { PlatformNode } from "../../../api/answer-types.ts";
import { platformNodesQuery } from "../../../data/platform-nodes.ts";
import { NodeState } from "../../../nodes/node-state.tsx";
import { Card } from "../../../ui/card.tsx";
import { Cpu } from "../../../ui/icons.tsx";
import { EmptyState } from "../../../ui/loading-states.tsx";
import { PagedTable } from "../../../ui/paged-table.tsx";
import type { Column } from "../../../ui/table.tsx";
import { TimeText } from "../../../ui/time-text.tsx";

export function AccountNodes({ id }: { id: string }) {
  const nodes = useInfiniteQuery(platformNodesQuery({ host: id }));
  const navigate = useNavigate();
  return (
    <Card title="Nodes" flush>
      <PagedTable
        query={nodes}
        label="Nodes"
        columns={COLUMNS}
        keyOf={(node) => node.id}
        onOpen={(node) => void navigate({ to: "/operator/nodes", search: { host: id, node: node.id } })}
        faded={({ state }) => state === "retired"}
        empty={<EmptyState icon={<Cpu aria-hidden />} title="No nodes yet" />}
      />
    </Card>
  );
}

const COLUMNS: Column<PlatformNode>[] = [
  {
    title: "Node",
    className: "max-w-0 w-full",
    cell: ({ name, models }) => (
      <>
        <span className="block truncate font-medium">{name}</span>
        <span className="block truncate text-xs text-ink-soft">{models.join(", ") || "no models chosen"}</span>
      </>
    ),
  },
  { title: "Agent", from: "md", cell: ({ agent }) => <span className="whitespace-nowrap">{agent}</span> },
  {
    title: "Registered",
    from: "md",
    cell: ({ created_at }) => (
      <span className="whitespace-nowrap">
        <TimeText at={created_at} as="day" />
      </span>
    ),
  },
  { title: "State", align: "right", cell: ({ state }) => <NodeState of={state} /> },
];
