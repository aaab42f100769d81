/** The nodes of all hosts with their states and operators' actions. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import type { NodeSearch, PlatformNode } from "../../../api/answer-types.ts";
import { platformNodesQuery } from "../../../data/platform-nodes.ts";
import { NodeState } from "../../../nodes/node-state.tsx";
import { explainQuarantine } from "../../../nodes/quarantine-texts.ts";
import { Card, PageHeader } from "../../../ui/card.tsx";
import { Cpu } from "../../../ui/icons.tsx";
import { EmptyState } from "../../../ui/loading-states.tsx";
import { PageSections } from "../../../ui/page-sections.tsx";
import { PagedTable } from "../../../ui/paged-table.tsx";
import type { Column } from "../../../ui/table.tsx";
import { TimeText } from "../../../ui/time-text.tsx";
import { NodeDrawer } from "./node-drawer.tsx";
import { NodeSearchBar } from "./node-search-bar.tsx";
import { SpotChecks } from "./spot-checks.tsx";

export function AllNodesPage() {
  const { node: open, ...filter } = useSearch({ from: "/app/operator/nodes" });
  const navigate = useNavigate({ from: "/operator/nodes" });
  const [searches, setSearches] = useState(0);
  const nodes = useInfiniteQuery(platformNodesQuery(filter));
  const setFilter = (next: NodeSearch): void => void navigate({ search: next, replace: true });
  const show = (node: string | undefined): void =>
    void navigate({ search: { ...filter, ...(node !== undefined && { node }) } });
  const ofHost = nodes.data?.pages[0]?.data.find(({ account }) => account === filter.host);
  return (
    <>
      <PageHeader
        title="All nodes"
        about="The nodes of all hosts. A quarantined node receives no requests until it is released."
      />
      <PageSections>
        <Card flush>
          <NodeSearchBar key={searches} filter={filter} onChange={setFilter} hostName={ofHost?.account_name} />
          <PagedTable
            query={nodes}
            label="Nodes"
            columns={COLUMNS}
            keyOf={({ id }) => id}
            onOpen={({ id }) => show(id)}
            isOpen={({ id }) => id === open}
            faded={(node) => node.state === "retired"}
            empty={<NoNodes filtered={Object.keys(filter).length > 0} />}
          />
        </Card>
        <SpotChecks />
      </PageSections>
      <NodeDrawer
        id={open}
        onClose={() => show(undefined)}
        onHost={(host) => {
          setFilter({ host });
          // A new key remounts the search field, which clears the text of the previous search.
          setSearches(searches + 1);
        }}
      />
    </>
  );
}

const NoNodes = ({ filtered }: { filtered: boolean }) => (
  <EmptyState icon={<Cpu aria-hidden />} title={filtered ? "No matching nodes" : "No nodes yet"}>
    {filtered ? "No nodes match these filters." : "Nodes appear here when hosts register machines."}
  </EmptyState>
);

const COLUMNS: Column<PlatformNode>[] = [
  {
    title: "Node",
    className: "max-w-0 w-full @lg:w-auto @lg:max-w-64",
    cell: ({ name, account_name, quarantine, state, models }) => (
      <>
        <span className="block truncate font-medium">{name}</span>
        {/* A quarantined node shows the full reason instead of its models, which are also in the node's details. */}
        {state === "quarantined" && quarantine !== null ? (
          <span className="block text-xs wrap-anywhere text-ink-soft">{explainQuarantine(quarantine).title}</span>
        ) : (
          <span className="block truncate text-xs text-ink-soft">{models.join(", ") || "no models chosen"}</span>
        )}
        <span className="block truncate text-xs text-ink-soft @2xl:hidden">{account_name}</span>
      </>
    ),
  },
  { title: "State", cell: ({ state }) => <NodeState of={state} /> },
  {
    title: "Host",
    from: "md",
    className: "max-w-56",
    cell: ({ account, account_name }) => (
      <span title={account} className="block truncate">
        {account_name}
      </span>
    ),
  },
  { title: "Agent", from: "xl", cell: ({ agent }) => agent },
  { title: "Registered", from: "lg", cell: ({ created_at }) => <TimeText at={created_at} as="day" /> },
];
