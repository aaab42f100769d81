/** The models that a node serves, each with its speed, and a button to choose others. */
import { useState } from "react";
import type { NodeDetail, NodeStats } from "../../../api/answer-types.ts";
import { usePermissions } from "../../../data/signed-in-session.ts";
import { Button } from "../../../ui/button.tsx";
import { Card } from "../../../ui/card.tsx";
import { EmptyState } from "../../../ui/loading-states.tsx";
import { type Column, Table } from "../../../ui/table.tsx";
import { CountText, DurationText } from "../../../ui/time-text.tsx";
import { ChooseModelsDialog } from "./choose-models.tsx";

type Row = NodeStats["models"][number];

export function NodeModels({ node }: { node: NodeDetail }) {
  const [choosing, setChoosing] = useState(false);
  const { models } = node.stats;
  const may = usePermissions("host");
  return (
    <Card
      title="Models"
      flush
      aside={
        node.state !== "retired" &&
        may("work") && (
          <Button size="small" onClick={() => setChoosing(true)}>
            Choose models
          </Button>
        )
      }
    >
      {models.length === 0 ? (
        <EmptyState title="No models chosen">
          Choose models that this machine's engine has. The node receives no requests until you choose models.
        </EmptyState>
      ) : (
        <Table label="Models" columns={COLUMNS} rows={models} keyOf={({ model }) => model} />
      )}
      {choosing && <ChooseModelsDialog node={node} onClose={() => setChoosing(false)} />}
    </Card>
  );
}

const None = () => <span className="text-ink-soft">not measured yet</span>;

const COLUMNS: Column<Row>[] = [
  { title: "Model", cell: ({ model }) => <code className="font-mono font-medium">{model}</code> },
  {
    title: "First token",
    align: "right",
    cell: ({ ttft_p50_ms }) => (ttft_p50_ms === null ? <None /> : <DurationText ms={ttft_p50_ms} />),
  },
  {
    title: "Speed",
    align: "right",
    cell: ({ tps_p50 }) =>
      tps_p50 === null ? (
        <span className="text-ink-soft">–</span>
      ) : (
        <>
          <CountText of={Math.round(tps_p50)} /> <span className="text-ink-soft">tokens/s</span>
        </>
      ),
  },
];
