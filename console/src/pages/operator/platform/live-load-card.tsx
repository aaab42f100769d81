/** Current requests in flight and connected nodes, updated live. */
import type { ReactNode } from "react";
import { formatClockTime } from "../../../locale.ts";
import { Badge } from "../../../ui/badge.tsx";
import { Card } from "../../../ui/card.tsx";
import { Chart } from "../../../ui/chart/chart.tsx";
import { MoneyText } from "../../../ui/money-text.tsx";
import { CountText, formatCount } from "../../../ui/time-text.tsx";
import type { PlatformLoadState } from "./use-platform-load.ts";

const SERIES = [{ name: "Requests in flight", colour: 1 }];

/** The card has its full height before the first event arrives, so that content below does not move. */
export function LiveLoadCard({ load: { now, live, samples } }: { load: PlatformLoadState }) {
  return (
    <Card
      title="Now"
      aside={
        <span role="status">
          <Badge tone={live ? "good" : "neutral"}>{live ? "live" : "connecting…"}</Badge>
        </span>
      }
    >
      <div className="grid grid-cols-1 gap-6 lg:grid-cols-[14rem_minmax(0,1fr)]">
        <dl className="grid grid-cols-2 content-start gap-4 lg:grid-cols-1">
          <Figure name="Requests in flight">{now === undefined ? "–" : <CountText of={now.in_flight} />}</Figure>
          <Figure name="Held">{now === undefined ? "–" : <MoneyText of={now.held_micro} />}</Figure>
          <Figure name="Slots busy" wide>
            {now === undefined ? (
              "–"
            ) : (
              <>
                <CountText of={now.busy} />
                <span className="text-sm font-normal"> of {formatCount(now.slots)}</span>
              </>
            )}
          </Figure>
          <Figure name="Nodes" wide>
            <span className="flex flex-wrap gap-x-3 text-sm font-normal">
              {Object.entries(now?.nodes ?? {}).map(([state, nodes]) => (
                <span key={state}>
                  {formatCount(nodes ?? 0)} {state}
                </span>
              ))}
              {now === undefined ? "–" : Object.keys(now.nodes).length === 0 && "none"}
            </span>
          </Figure>
        </dl>
        <Chart
          kind="lines"
          title="Requests in flight, last few minutes"
          height={200}
          series={SERIES}
          format={formatCount}
          unit="requests"
          whole
          rows={samples.map(({ atMs, inFlight }) => ({
            label: formatClockTime(atMs),
            at: atMs,
            values: { "Requests in flight": inFlight },
          }))}
        />
      </div>
    </Card>
  );
}

interface FigureProps {
  name: string;
  wide?: boolean;
  children: ReactNode;
}

const Figure = ({ name, wide = false, children }: FigureProps) => (
  <div className={wide ? "col-span-2 lg:col-span-1" : undefined}>
    <dt className="text-ink-soft">{name}</dt>
    <dd className="mt-0.5 text-xl font-semibold tracking-tight">{children}</dd>
  </div>
);
