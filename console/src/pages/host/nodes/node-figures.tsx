/** Single figures of a node for the cells of a table. */
import type { ReactNode } from "react";
import type { ListedNode, NodeStats } from "../../../api/types.ts";
import { Meter } from "../../../ui/meter.tsx";
import { Skeleton } from "../../../ui/states.tsx";
import { Count } from "../../../ui/time.tsx";

export interface NodeRow {
  node: ListedNode;
  /** Undefined until it is known; null where it could not be read. */
  stats: NodeStats | null | undefined;
}

function Figure({ of: { stats }, children }: { of: NodeRow; children: (stats: NodeStats) => ReactNode }) {
  if (stats === undefined) return <Skeleton className="inline-block h-4 w-14" />;
  return stats === null ? <span className="text-ink-soft">–</span> : children(stats);
}

export const Slots = ({ of }: { of: NodeRow }) => (
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

/** The fastest of its models, since they differ by size. */
export const Speed = ({ of }: { of: NodeRow }) => (
  <Figure of={of}>
    {({ models }) => {
      const fastest = Math.max(0, ...models.map(({ tps_p50 }) => tps_p50 ?? 0));
      if (fastest === 0) return <span className="text-ink-soft">–</span>;
      return (
        <span className="whitespace-nowrap">
          <Count of={Math.round(fastest)} /> <span className="text-ink-soft">tokens/s</span>
        </span>
      );
    }}
  </Figure>
);

export const Failures = ({ of }: { of: NodeRow }) => (
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
