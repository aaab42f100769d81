/**
 * Each model's current capacity: connected nodes, their slots, and used slots. A node with several models counts in
 * each of their rows; the last row is the total of all nodes.
 */
import type { ModelCapacity, PlatformLoad } from "../../../api/answer-types.ts";
import { Badge } from "../../../ui/badge.tsx";
import { EmptyState } from "../../../ui/loading-states.tsx";
import { Meter } from "../../../ui/meter.tsx";
import { type Column, Table } from "../../../ui/table.tsx";
import { CountText } from "../../../ui/time-text.tsx";

export function CapacityTable({ load: { capacity, slots, busy } }: { load: PlatformLoad }) {
  if (capacity.length === 0) return <EmptyState title="No active models in the catalogue" />;
  return (
    <>
      <Table label="Capacity by model" columns={COLUMNS} rows={capacity} keyOf={({ model }) => model} />
      <p className="border-t border-line px-4 py-3 text-ink-soft sm:px-5">
        Busy slots of all nodes: <CountText of={busy} /> of <CountText of={slots} />. A node that serves several models
        appears in several rows, but is counted once in this total.
      </p>
    </>
  );
}

const COLUMNS: Column<ModelCapacity>[] = [
  { title: "Model", cell: ({ model }) => <code className="font-mono font-medium whitespace-nowrap">{model}</code> },
  {
    title: "Nodes",
    align: "right",
    cell: ({ nodes }) => (nodes === 0 ? <Badge tone="warn">none</Badge> : <CountText of={nodes} />),
  },
  {
    title: "Slots",
    align: "right",
    cell: ({ model, busy, slots }) =>
      slots === 0 ? (
        <span className="text-ink-soft">–</span>
      ) : (
        <Meter label={`Slots for ${model}`} value={busy} max={slots} word="busy" />
      ),
  },
];
