/** Every host's nodes: their state, and what an operator can do about one. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Cpu } from "lucide-react";
import { useState } from "react";
import type { PlatformNode } from "../../../api/operator-types.ts";
import { platformNodesQuery } from "../../../data/platform-nodes.ts";
import { wordsOf } from "../../../quarantine.ts";
import { Card, PageHeader } from "../../../ui/card.tsx";
import { SelectField } from "../../../ui/field.tsx";
import { NODE_STATES, NodeState } from "../../../ui/node-state.tsx";
import { Empty, Loaded } from "../../../ui/states.tsx";
import { type Column, Table } from "../../../ui/table.tsx";
import { Time } from "../../../ui/time.tsx";
import { NodeDrawer } from "./node-drawer.tsx";

export function AllNodesPage() {
  const { node: open } = useSearch({ from: "/app/operator/nodes" });
  const navigate = useNavigate({ from: "/operator/nodes" });
  const [state, setState] = useState("");
  const nodes = useQuery(platformNodesQuery);
  const show = (node: string | undefined): void => void navigate({ search: node === undefined ? {} : { node } });
  const countOf = (of: string): number => nodes.data?.data.filter((node) => node.state === of).length ?? 0;
  return (
    <>
      <PageHeader
        title="All nodes"
        about="Every host's machines. A quarantined node gets no work until it is released."
        actions={
          <SelectField
            label="State"
            hideLabel
            value={state}
            options={[
              { value: "", label: `All states (${nodes.data?.data.length ?? 0})` },
              ...NODE_STATES.map((each) => ({ value: each, label: `${each} (${countOf(each)})` })),
            ]}
            onChange={({ target }) => setState(target.value)}
          />
        }
      />
      <Card flush>
        <Loaded query={nodes}>
          {({ data }) => {
            const rows = data.filter((node) => state === "" || node.state === state);
            if (rows.length === 0) {
              return (
                <Empty icon={<Cpu aria-hidden />} title={data.length === 0 ? "No nodes yet" : "None in this state"}>
                  Nodes appear here as soon as a host registers a machine.
                </Empty>
              );
            }
            return (
              <Table
                label="Nodes"
                columns={COLUMNS}
                rows={rows}
                keyOf={({ id }) => id}
                onOpen={({ id }) => show(id)}
                isOpen={({ id }) => id === open}
                faded={(node) => node.state === "retired"}
              />
            );
          }}
        </Loaded>
      </Card>
      <NodeDrawer id={open} onClose={() => show(undefined)} />
    </>
  );
}

const COLUMNS: Column<PlatformNode>[] = [
  {
    title: "Node",
    className: "max-w-0 w-full sm:w-auto sm:max-w-64",
    cell: ({ name, quarantine, state, models }) => (
      <>
        <span className="block truncate font-medium">{name}</span>
        <span className="block truncate text-xs text-ink-soft">
          {state === "quarantined" && quarantine !== null
            ? wordsOf(quarantine).title
            : models.join(", ") || "no model elected"}
        </span>
      </>
    ),
  },
  { title: "State", cell: ({ state }) => <NodeState of={state} /> },
  {
    title: "Host",
    from: "lg",
    cell: ({ account }) => <code className="font-mono text-xs text-ink-soft">{account}</code>,
  },
  { title: "Agent", from: "xl", cell: ({ agent }) => agent },
  { title: "Registered", from: "md", cell: ({ created_at }) => <Time at={created_at} as="day" /> },
];
