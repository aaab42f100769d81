/** The page of one node: state, load, models and machine. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import type { NodeDetail } from "../../../api/answer-types.ts";
import { nodeQuery, nodeSpotChecksQuery } from "../../../data/host-nodes-and-tokens.ts";
import { MachineDetails } from "../../../nodes/machine-details.tsx";
import { explainNodeState, NodeState } from "../../../nodes/node-state.tsx";
import { QuarantineNotice } from "../../../nodes/quarantine-notice.tsx";
import { SpotCheckTable } from "../../../nodes/spot-check-table.tsx";
import { TrustNotice } from "../../../nodes/trust-notice.tsx";
import { Card, PageHeader, Stat, StatGrid } from "../../../ui/card.tsx";
import { IdLine } from "../../../ui/drawer.tsx";
import { LoadedQuery } from "../../../ui/loading-states.tsx";
import { MoneyText } from "../../../ui/money-text.tsx";
import { PageSections } from "../../../ui/page-sections.tsx";
import { CountText } from "../../../ui/time-text.tsx";
import { BackToNodes } from "../back-to-nodes.tsx";
import { NodeActivityCharts } from "./node-activity.tsx";
import { NodeJobs } from "./node-jobs.tsx";
import { NodeLast24Hours } from "./node-last-24-hours.tsx";
import { NodeMenu } from "./node-menu.tsx";
import { NodeModels } from "./node-models.tsx";
import { PauseButton } from "./pause-button.tsx";

export function NodePage() {
  const { id } = useParams({ from: "/app/host/nodes/$id" });
  const node = useQuery(nodeQuery(id));
  return (
    <>
      <BackToNodes />
      {node.data === undefined && <PageHeader title="Node" />}
      <LoadedQuery query={node}>{(found) => <Details node={found} />}</LoadedQuery>
    </>
  );
}

function Details({ node }: { node: NodeDetail }) {
  const { id, name, state, quarantine, stats } = node;
  const checks = useInfiniteQuery(nodeSpotChecksQuery(id));
  return (
    <>
      <PageHeader
        title={name}
        about={
          <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <span role="status">
              <NodeState of={state} />
            </span>
            <span>{explainNodeState(state)}</span>
          </span>
        }
        actions={
          <>
            <PauseButton node={node} />
            <NodeMenu node={node} />
          </>
        }
      />
      <PageSections>
        {quarantine !== null && state === "quarantined" && (
          <QuarantineNotice name={name} quarantine={quarantine} forHost />
        )}
        <TrustNotice node={node} forHost />
        <Figures stats={stats} />
        <NodeLast24Hours stats={stats} />
        <NodeActivityCharts id={id} />
        <NodeModels node={node} />
        <Card
          title="Machine"
          aside={
            <span className="flex flex-wrap gap-x-4 gap-y-1">
              <Link to="/host/market" search={{ node: id }} className="text-accent underline-offset-2 hover:underline">
                Estimated earnings
              </Link>
              <Link
                to="/host/earnings"
                search={{ node: id }}
                className="text-accent underline-offset-2 hover:underline"
              >
                Earnings so far
              </Link>
            </span>
          }
        >
          <MachineDetails node={node} />
          <div className="mt-4 text-ink-soft">
            <IdLine id={id} of="node" />
          </div>
        </Card>
        <NodeJobs node={node} />
        <Card title="Spot checks" flush>
          <SpotCheckTable query={checks} />
        </Card>
      </PageSections>
    </>
  );
}

function Figures({ stats }: Pick<NodeDetail, "stats">) {
  const { connected, busy, slots, engine_slots, draining, today, reliability } = stats;
  const { jobs, failures, jobs_window, failures_max } = reliability;
  const serving = engine_slots == null ? "Connected" : `Engine too slow for ${engine_slots} slots`;
  return (
    <StatGrid label="Node metrics">
      <Stat label="Slots busy" note={connected ? (draining ? "Draining" : serving) : "Not connected"}>
        {connected ? (
          <>
            <CountText of={busy} /> <span className="text-ink-soft">of</span> <CountText of={slots} />
          </>
        ) : (
          "–"
        )}
      </Stat>
      <Stat
        label="Requests today"
        note={
          <>
            <CountText of={today.prompt_tokens} /> tokens in, <CountText of={today.completion_tokens} /> out
          </>
        }
      >
        <CountText of={today.requests} />
      </Stat>
      <Stat label="Earned today" note="Since midnight UTC">
        <MoneyText of={today.earned_micro} as="balance" />
      </Stat>
      <Stat label="Failures" note={`Quarantined at ${failures_max} in ${jobs_window} jobs`}>
        {jobs === 0 ? "–" : `${failures} of ${jobs}`}
      </Stat>
    </StatGrid>
  );
}
