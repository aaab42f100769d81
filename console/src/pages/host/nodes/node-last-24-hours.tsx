/** A node's results in the last 24 hours, as measured by the gateways. */
import type { NodeDetail } from "../../../api/answer-types.ts";
import { Stat, StatGrid } from "../../../ui/card.tsx";
import { Notice } from "../../../ui/notice.tsx";
import { CountText } from "../../../ui/time-text.tsx";

export function NodeLast24Hours({ stats: { last_day: seen, agent_outdated } }: Pick<NodeDetail, "stats">) {
  return (
    <>
      {agent_outdated && (
        <Notice tone="bad" title="The agent is outdated">
          <p>
            A node on probation must accept a request before it receives the prompt. This version of the agent cannot do
            that, so the node gets no requests. Install a newer tollgate-host.
          </p>
        </Notice>
      )}
      <StatGrid label="Record of the last 24 hours">
        <Stat label="Good answers" note="Last 24 hours">
          <CountText of={seen.answers} />
        </Stat>
        <Stat label="Failed jobs" note="Last 24 hours">
          <CountText of={seen.failures} />
        </Stat>
        <Stat label="Silences" note="No output for 2 s">
          <CountText of={seen.silences} />
        </Stat>
        <Stat label="Refusals" note="With a free slot">
          <CountText of={seen.refusals} />
        </Stat>
        <Stat label="Late acceptances" note="After more than 250 ms">
          <CountText of={seen.late_acceptances} />
        </Stat>
      </StatGrid>
    </>
  );
}
