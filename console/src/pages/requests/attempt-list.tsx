/** The attempts of a request that was tried more than once: when each was made, and how it ended. */
import type { RequestDetail } from "../../api/answer-types.ts";
import { formatDuration } from "../../format-time.ts";
import { Badge } from "../../ui/badge.tsx";
import { type Column, Table } from "../../ui/table.tsx";

/** An attempt; operators also see its node. */
export type ShownAttempt = RequestDetail["attempt_list"][number] & { node?: { id: string; name: string } };

const SAYS: Record<ShownAttempt["outcome"], string> = {
  finished: "Completed",
  empty: "Completed without a token",
  failed: "The node reported a failure",
  broken: "The node sent an invalid message",
  quiet: "The node stopped responding",
  expired: "It took too long",
  lost: "The node's connection dropped",
  cut: "The platform lost its connection to the node",
  declined: "The node did not take the request",
  cancelled: "Cancelled by the client",
};

const ATTEMPT: Column<ShownAttempt> = {
  title: "Attempt",
  className: "w-full",
  cell: ({ outcome, node }) => (
    <>
      <span className="flex flex-wrap items-center gap-2">
        <Badge tone={outcome === "finished" ? "good" : outcome === "cancelled" ? "neutral" : "warn"}>{outcome}</Badge>
        {node !== undefined && <span className="font-medium">{node.name}</span>}
      </span>
      <span className="block text-xs text-ink-soft">{SAYS[outcome]}</span>
    </>
  ),
};
const timeColumn = (title: string, of: (one: ShownAttempt) => number | null): Column<ShownAttempt> => ({
  title,
  align: "right",
  cell: (one) => {
    const ms = of(one);
    return ms === null ? "–" : formatDuration(ms);
  },
});
const COLUMNS = [
  ATTEMPT,
  timeColumn("Asked", ({ offered_ms }) => offered_ms),
  timeColumn("Accepted", ({ accepted_ms }) => accepted_ms),
  timeColumn("First token", ({ first_token_ms }) => first_token_ms),
  timeColumn("Ended", ({ ended_ms }) => ended_ms),
];

export const AttemptList = ({ attempts }: { attempts: ShownAttempt[] }) =>
  attempts.length > 0 && (
    <div className="mt-4">
      <p className="mb-2 text-ink-soft">Attempts, with times since the request was dispatched:</p>
      <Table
        label="Attempts"
        columns={COLUMNS}
        rows={attempts}
        keyOf={({ offered_ms, node }) => `${offered_ms} ${node?.id}`}
      />
    </div>
  );
