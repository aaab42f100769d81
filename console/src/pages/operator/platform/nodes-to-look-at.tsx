/** Nodes that need attention, the most urgent first, each with its reasons. */
import { Link } from "@tanstack/react-router";
import type { NodeToLookAt, PlatformPerformance } from "../../../api/answer-types.ts";
import { Badge, type Tone } from "../../../ui/badge.tsx";
import { Card } from "../../../ui/card.tsx";
import { CountText, TimeText } from "../../../ui/time-text.tsx";

type Reason = NodeToLookAt["reasons"][number];

const WORDS: Record<Reason["code"], { word: string; tone: Tone }> = {
  failing: { word: "failing", tone: "bad" },
  quarantined: { word: "quarantined", tone: "bad" },
  offline: { word: "offline", tone: "warn" },
  withheld: { word: "withheld", tone: "warn" },
  old_agent: { word: "outdated agent", tone: "neutral" },
  probation: { word: "probation", tone: "neutral" },
};

export function NodesToLookAt({ of: { total, data } }: { of: PlatformPerformance["nodes_to_look_at"] }) {
  return (
    <Card
      title="Nodes that need attention"
      flush
      aside={
        <Link to="/operator/nodes" className="text-accent underline-offset-2 hover:underline">
          All nodes
        </Link>
      }
    >
      {data.length === 0 ? (
        <p className="px-4 pb-4 text-ink-soft sm:px-5">None. All nodes are working normally.</p>
      ) : (
        <ul aria-label="Nodes that need attention" className="border-t border-line">
          {data.map((node) => (
            <Line key={node.node} node={node} />
          ))}
        </ul>
      )}
      {total > data.length && (
        <p className="border-t border-line px-4 py-3 text-ink-soft sm:px-5">
          Showing <CountText of={data.length} /> of <CountText of={total} />.
        </p>
      )}
    </Card>
  );
}

const Line = ({ node: { node, name, account, account_name, reasons } }: { node: NodeToLookAt }) => (
  <li className="grid gap-x-6 gap-y-1.5 border-b border-line px-4 py-3 last:border-b-0 sm:px-5 md:grid-cols-[14rem_minmax(0,1fr)]">
    <div className="min-w-0">
      <Link
        to="/operator/nodes"
        search={{ node }}
        className="block truncate font-medium text-accent underline-offset-2 hover:underline"
      >
        {name}
      </Link>
      <Link
        to="/operator/accounts/$id"
        params={{ id: account }}
        className="block truncate text-xs text-ink-soft underline-offset-2 hover:underline"
      >
        {account_name}
      </Link>
    </div>
    <ul className="flex min-w-0 flex-col gap-1">
      {reasons.map(({ code, text, since }) => (
        <li key={code} className="flex flex-wrap items-baseline gap-x-2 gap-y-0.5">
          <Badge tone={WORDS[code].tone}>{WORDS[code].word}</Badge>
          <span className="min-w-0 wrap-anywhere">{text}</span>
          {since !== null && (
            <span className="text-xs text-ink-soft">
              {code === "offline" ? "last seen" : "since"}{" "}
              <TimeText at={since} as={code === "offline" ? "ago" : "full"} />
            </span>
          )}
        </li>
      ))}
    </ul>
  </li>
);
