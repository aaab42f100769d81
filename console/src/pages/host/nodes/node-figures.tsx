/** Table cells with a node's figures. */
import type { ReactNode } from "react";
import type { HostActivity, ListedNode, NodeStats } from "../../../api/answer-types.ts";
import { Sparkline } from "../../../ui/chart/sparkline.tsx";
import { Skeleton } from "../../../ui/loading-states.tsx";
import { Meter } from "../../../ui/meter.tsx";
import { CountText } from "../../../ui/time-text.tsx";
import { formatMeasuredShare } from "./activity-charts.ts";

type NodeUse = HostActivity["nodes"][number];

export interface NodeRow {
  node: ListedNode;
  /** The statistics; undefined until loaded, null if loading failed. */
  stats: NodeStats | null | undefined;
  /** The usage in the last 24 hours; undefined until loaded, null if loading failed. */
  use: NodeUse | null | undefined;
}

function Figure({ of: { stats }, children }: { of: NodeRow; children: (stats: NodeStats) => ReactNode }) {
  if (stats === undefined) return <Skeleton className="inline-block h-4 w-14" />;
  return stats === null ? <span className="text-ink-soft">–</span> : children(stats);
}

export const NodeSlots = ({ of }: { of: NodeRow }) => (
  <Figure of={of}>
    {({ connected, busy, slots, draining }) =>
      connected ? (
        <Meter label="Slots" value={busy} max={slots} word={draining ? "busy, draining" : "busy"} />
      ) : (
        <span className="text-xs text-ink-soft">not connected</span>
      )
    }
  </Figure>
);

/** The node's utilization in the last 24 hours, as a number and a small chart. */
export function NodeUtilization({ of: { node, use } }: { of: NodeRow }) {
  if (use === undefined) return <Skeleton className="inline-block h-4 w-24" />;
  if (use === null || use.total.utilisation === null) return <span className="text-ink-soft">–</span>;
  const share = formatMeasuredShare(use.total.utilisation);
  return (
    <span className="inline-flex items-center gap-2.5 align-middle whitespace-nowrap">
      <Sparkline
        label={`Utilisation of ${node.name} in the last 24 hours, ${share} on average`}
        values={use.utilisation.map((value) => value ?? 0)}
      />
      {share}
    </span>
  );
}

/** The speed of the node's fastest model, because an average over models of different sizes says little. */
export const NodeSpeed = ({ of }: { of: NodeRow }) => (
  <Figure of={of}>
    {({ models }) => {
      const fastest = Math.max(0, ...models.map(({ tps_p50 }) => tps_p50 ?? 0));
      if (fastest === 0) return <span className="text-ink-soft">–</span>;
      return (
        <span className="whitespace-nowrap">
          <CountText of={Math.round(fastest)} /> <span className="text-ink-soft">tokens/s</span>
        </span>
      );
    }}
  </Figure>
);

export const NodeFailures = ({ of }: { of: NodeRow }) => (
  <Figure of={of}>
    {({ reliability: { jobs, failures } }) =>
      jobs === 0 ? (
        <span className="text-ink-soft">no jobs yet</span>
      ) : (
        <span className={failures > 0 ? "whitespace-nowrap text-warn" : "whitespace-nowrap"}>
          {failures} of {jobs}
        </span>
      )
    }
  </Figure>
);
