/** A host's nodes with their states, the reasons for these, and their earnings. */
import { type UseQueryResult, useQueries, useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import type { ListedNode } from "../../../api/answer-types.ts";
import { hostMoneyQuery } from "../../../data/earnings.ts";
import { hostActivityQuery, NODES_REFETCH_MS, nodeQuery, nodesQuery } from "../../../data/host-nodes-and-tokens.ts";
import { usePermissions } from "../../../data/signed-in-session.ts";
import { NodeState } from "../../../nodes/node-state.tsx";
import { QuarantineNotice } from "../../../nodes/quarantine-notice.tsx";
import { TrustNotice } from "../../../nodes/trust-notice.tsx";
import { RoleNote } from "../../../team/role-note.tsx";
import { buttonClasses } from "../../../ui/button.tsx";
import { Card, PageHeader, StatGrid } from "../../../ui/card.tsx";
import { Cpu, Plus } from "../../../ui/icons.tsx";
import { EmptyState, LoadedQuery, LoadedStat } from "../../../ui/loading-states.tsx";
import { MoneyText, moneyColumn } from "../../../ui/money-text.tsx";
import { PageSections } from "../../../ui/page-sections.tsx";
import { type Column, Table } from "../../../ui/table.tsx";
import { CountText } from "../../../ui/time-text.tsx";
import { formatMeasuredShare } from "./activity-charts.ts";
import { NodeFailures, type NodeRow, NodeSlots, NodeSpeed, NodeUtilization } from "./node-figures.tsx";

/** The maximum requests per second for node statistics, however many nodes there are. */
const QUESTIONS_A_SECOND = 2;

export function NodesPage() {
  const nodes = useQuery(nodesQuery);
  const add = usePermissions("host")("work") && (
    <Link to="/host/add" className={buttonClasses("primary")}>
      <Plus aria-hidden className="size-4" />
      Add a node
    </Link>
  );
  return (
    <>
      <PageHeader title="Nodes" about="The machines that serve models for your host account." actions={add} />
      <RoleNote kind="host" need="work" />
      <PageSections>
        <Figures nodes={nodes} />
        {nodes.data?.data.map(
          ({ id, name, quarantine, state }) =>
            quarantine !== null &&
            state === "quarantined" && (
              <section key={id} aria-label={`Quarantine of ${name}`}>
                <QuarantineNotice
                  name={name}
                  quarantine={quarantine}
                  action={
                    <Link to="/host/nodes/$id" params={{ id }} className={buttonClasses("plain", "small")}>
                      Open {name}
                    </Link>
                  }
                />
              </section>
            ),
        )}
        <Withheld nodes={nodes.data?.data ?? []} />
        <Card flush>
          <LoadedQuery query={nodes}>
            {({ data }) =>
              data.length === 0 ? (
                <EmptyState icon={<Cpu aria-hidden />} title="No nodes yet" action={add}>
                  A node is a machine that runs an inference engine and the tollgate-host agent. The agent only makes
                  outbound connections, so you do not have to open a port.
                </EmptyState>
              ) : (
                <NodeTable nodes={data} />
              )
            }
          </LoadedQuery>
        </Card>
      </PageSections>
    </>
  );
}

/** One notice for all nodes that get no requests because another node of the host is quarantined. */
function Withheld({ nodes }: { nodes: ListedNode[] }) {
  const [first, ...others] = nodes.filter(({ withheld }) => withheld !== null);
  if (first === undefined) return null;
  const name = others.length === 0 ? first.name : `${first.name} (and ${others.length} more)`;
  return <TrustNotice node={{ ...first, name }} forHost />;
}

function NodeTable({ nodes }: { nodes: ListedNode[] }) {
  const navigate = useNavigate();
  const refetchInterval = Math.max(NODES_REFETCH_MS, (nodes.length * 1000) / QUESTIONS_A_SECOND);
  const details = useQueries({ queries: nodes.map(({ id }) => ({ ...nodeQuery(id), refetchInterval })) });
  const insight = useQuery(hostActivityQuery("24h"));
  const rows = nodes.map((node, i): NodeRow => {
    const { data, isError } = details[i] ?? {};
    const use = insight.data?.nodes.find((each) => each.node === node.id);
    return {
      node,
      stats: data?.stats ?? (isError === true ? null : undefined),
      use: use ?? (insight.data === undefined && !insight.isError ? undefined : null),
    };
  });
  return (
    <Table
      label="Nodes"
      columns={COLUMNS}
      rows={rows}
      keyOf={({ node }) => node.id}
      onOpen={({ node: { id } }) => void navigate({ to: "/host/nodes/$id", params: { id } })}
      faded={({ node }) => node.state === "retired"}
    />
  );
}

function Figures({ nodes }: { nodes: UseQueryResult<{ data: ListedNode[] }> }) {
  const money = useQuery(hostMoneyQuery);
  const insight = useQuery(hostActivityQuery("24h"));
  return (
    <StatGrid label="At a glance">
      <LoadedStat
        query={nodes}
        label="Online"
        note={({ data: { length } }) => `of ${length} ${length === 1 ? "node" : "nodes"}`}
      >
        {({ data }) => <CountText of={data.filter(({ state }) => state === "online").length} />}
      </LoadedStat>
      <LoadedStat
        query={insight}
        label="Utilisation"
        note={({ total }) => (
          <>
            <CountText of={total.requests} /> requests in the last 24 hours
          </>
        )}
      >
        {({ total }) => formatMeasuredShare(total.utilisation)}
      </LoadedStat>
      <LoadedStat query={money} label="Earned today" note={() => "Since midnight UTC"}>
        {({ today_micro }) => <MoneyText of={today_micro} as="balance" />}
      </LoadedStat>
      <LoadedStat
        query={money}
        label="Pending payout"
        note={({ balance }) => (
          <>
            <MoneyText of={balance.paid_out_micro} as="balance" /> paid so far
          </>
        )}
      >
        {({ balance }) => <MoneyText of={balance.pending_micro} as="balance" />}
      </LoadedStat>
    </StatGrid>
  );
}

const COLUMNS: Column<NodeRow>[] = [
  {
    title: "Node",
    className: "max-w-0 w-full @lg:w-auto @lg:max-w-56 @4xl:max-w-80",
    cell: (row) => (
      <>
        <span title={row.node.name} className="block truncate font-medium">
          {row.node.name}
        </span>
        <span className="block truncate text-xs text-ink-soft" title={row.node.models.join(", ")}>
          {row.node.models.join(", ") || "no models chosen"}
        </span>
        <span className="mt-1 block @lg:hidden">
          <NodeSlots of={row} />
        </span>
      </>
    ),
  },
  { title: "State", cell: ({ node }) => <NodeState of={node.state} /> },
  { title: "Slots", from: "sm", cell: (row) => <NodeSlots of={row} /> },
  { title: "Utilisation, 24 h", from: "lg", cell: (row) => <NodeUtilization of={row} /> },
  { title: "Speed", from: "xl", align: "right", cell: (row) => <NodeSpeed of={row} /> },
  { title: "Failures", from: "xl", align: "right", cell: (row) => <NodeFailures of={row} /> },
  moneyColumn({
    title: "Earned today",
    from: "md",
    of: ({ stats }) => (stats === undefined || stats === null ? stats : stats.today.earned_micro),
  }),
];
