/** Single figures of a node for a cell of a table. All cells of a row share one question to the API. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { NodeStats } from "../../../api/host-types.ts";
import { nodeQuery } from "../../../data/host.ts";
import { Meter } from "../../../ui/meter.tsx";
import { Money } from "../../../ui/money.tsx";
import { Skeleton } from "../../../ui/states.tsx";
import { Count } from "../../../ui/time.tsx";

function Figure({ id, children }: { id: string; children: (stats: NodeStats) => ReactNode }) {
  const { data, isError } = useQuery(nodeQuery(id));
  if (data !== undefined) return children(data.stats);
  return isError ? <span className="text-ink-soft">–</span> : <Skeleton className="inline-block h-4 w-14" />;
}

export const Slots = ({ id }: { id: string }) => (
  <Figure id={id}>
    {({ connected, busy, slots, draining }) =>
      connected ? (
        <Meter label="Slots" value={busy} max={slots} word={draining ? "busy, finishing up" : "busy"} />
      ) : (
        <span className="text-xs text-ink-soft">not connected</span>
      )
    }
  </Figure>
);

/** The fastest of its models, since they differ by size. */
export const Speed = ({ id }: { id: string }) => (
  <Figure id={id}>
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

export const Failures = ({ id }: { id: string }) => (
  <Figure id={id}>
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

export const EarnedToday = ({ id }: { id: string }) => (
  <Figure id={id}>{({ today }) => <Money of={today.earned_micro} as="balance" />}</Figure>
);
