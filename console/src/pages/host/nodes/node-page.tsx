/** One node: how it stands, what it serves, what it may do. */
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { ArrowLeft } from "lucide-react";
import type { NodeDetail } from "../../../api/host-types.ts";
import { nodeQuery } from "../../../data/host.ts";
import { Card, PageHeader, Stat, Stats } from "../../../ui/card.tsx";
import { CopyButton } from "../../../ui/copy.tsx";
import { MachineFacts } from "../../../ui/machine-facts.tsx";
import { Money } from "../../../ui/money.tsx";
import { meaningOfState, NodeState } from "../../../ui/node-state.tsx";
import { QuarantineNotice } from "../../../ui/quarantine-notice.tsx";
import { Loaded } from "../../../ui/states.tsx";
import { Count } from "../../../ui/time.tsx";
import { TrustNotice } from "../../../ui/trust-notice.tsx";
import { NodeModels } from "./node-models.tsx";
import { NodeMoves } from "./node-moves.tsx";

export function NodePage() {
  const { id } = useParams({ from: "/app/host/nodes/$id" });
  const node = useQuery(nodeQuery(id));
  return (
    <>
      <Link to="/host" className="mb-3 inline-flex items-center gap-1.5 text-ink-soft hover:text-ink">
        <ArrowLeft aria-hidden className="size-4" />
        Nodes
      </Link>
      {node.data === undefined && <PageHeader title="Node" />}
      <Loaded query={node}>{(found) => <Details node={found} />}</Loaded>
    </>
  );
}

function Details({ node }: { node: NodeDetail }) {
  const { id, name, state, quarantine, stats } = node;
  return (
    <>
      <PageHeader
        title={name}
        about={
          <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <span role="status">
              <NodeState of={state} />
            </span>
            <span>{meaningOfState(state)}</span>
          </span>
        }
        actions={<NodeMoves node={node} />}
      />
      <div className="flex flex-col gap-5">
        {quarantine !== null && state === "quarantined" && (
          <QuarantineNotice name={name} quarantine={quarantine} forHost />
        )}
        <TrustNotice node={node} forHost />
        <Figures stats={stats} />
        <NodeModels node={node} />
        <Card
          title="Machine"
          aside={
            <Link to="/host/earnings" search={{ node: id }} className="text-accent underline-offset-2 hover:underline">
              What it earned
            </Link>
          }
        >
          <MachineFacts node={node} />
          <p className="mt-4 flex items-center gap-1 text-xs text-ink-soft">
            <code className="min-w-0 font-mono break-all">{id}</code>
            <CopyButton text={id} label="Copy the node's id" />
          </p>
        </Card>
      </div>
    </>
  );
}

function Figures({ stats: { connected, busy, slots, draining, today, reliability } }: Pick<NodeDetail, "stats">) {
  const { jobs, failures, jobs_window, failures_max } = reliability;
  return (
    <Stats label="Figures of the node">
      <Stat label="Slots busy" note={connected ? (draining ? "Finishing up" : "Connected") : "Not connected"}>
        {connected ? (
          <>
            <Count of={busy} /> <span className="text-ink-soft">of</span> <Count of={slots} />
          </>
        ) : (
          "–"
        )}
      </Stat>
      <Stat
        label="Requests today"
        note={
          <>
            <Count of={today.prompt_tokens} /> tokens in, <Count of={today.completion_tokens} /> out
          </>
        }
      >
        <Count of={today.requests} />
      </Stat>
      <Stat label="Earned today" note="Since midnight UTC">
        <Money of={today.earned_micro} as="balance" />
      </Stat>
      <Stat label="Failures" note={`${failures_max} in ${jobs_window} jobs quarantine a node`}>
        {jobs === 0 ? "–" : `${failures} of ${jobs}`}
      </Stat>
    </Stats>
  );
}
