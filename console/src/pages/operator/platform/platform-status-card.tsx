/** The platform's status: whether it serves requests, the start and cause of a problem, and the next step. */
import type { UseQueryResult } from "@tanstack/react-query";
import type { Triage } from "../../../api/answer-types.ts";
import { useOutage } from "../../../data/outage.ts";
import { useGatewayHealth } from "../../../data/outdated-data.ts";
import { buttonClasses } from "../../../ui/button.tsx";
import { Skeleton } from "../../../ui/loading-states.tsx";
import { Notice } from "../../../ui/notice.tsx";
import { TimeText } from "../../../ui/time-text.tsx";
import { describePlatformHealth, type PlatformHealthSummary } from "./platform-health-summary.ts";

const TONES = { serving: "good", degraded: "warn", down: "bad" } as const;

export function PlatformStatusCard({ query }: { query: UseQueryResult<Triage> }) {
  const away = useOutage();
  const isUnread = query.isError || query.failureCount > 0;
  const { data: health, dataUpdatedAt } = useGatewayHealth(isUnread);
  const nowMs = Math.max(dataUpdatedAt, query.dataUpdatedAt);
  const words =
    away === undefined
      ? describePlatformHealth(isUnread ? undefined : query.data, isUnread ? (health?.unreachable ?? []) : [], nowMs)
      : unreachable(away.since);
  return (
    <section aria-label="Verdict" role="status">
      {words === undefined ? <Unknown isUnread={isUnread} /> : <Words words={words} />}
    </section>
  );
}

function Words({ words: { state, title, meaning, since, cause, next, runbook } }: { words: PlatformHealthSummary }) {
  return (
    <Notice
      tone={TONES[state]}
      title={<span className="text-lg font-semibold">{title}</span>}
      action={
        runbook !== undefined && (
          <a href={runbook} className={buttonClasses("plain", "small")}>
            Open runbook
          </a>
        )
      }
    >
      <p>{meaning}</p>
      {cause !== undefined && (
        <dl className="mt-2 grid gap-x-4 sm:grid-cols-[auto_1fr] sm:gap-y-1 max-sm:[&_dd]:mb-1.5">
          {since !== null && (
            <>
              <dt className="text-ink-soft">Since</dt>
              <dd>
                <TimeText at={since} as="full" />
              </dd>
            </>
          )}
          <dt className="text-ink-soft">Likely cause</dt>
          <dd>{cause}</dd>
          <dt className="text-ink-soft">Next step</dt>
          <dd>{next}</dd>
        </dl>
      )}
    </Notice>
  );
}

const unreachable = (sinceMs: number): PlatformHealthSummary => ({
  state: "down",
  title: "This gateway does not answer",
  meaning: "Requests to this gateway get no response. Other gateways may still serve requests.",
  since: Math.floor(sinceMs / 1000),
  cause: "The gateway stopped, or the network or a proxy in front of the gateway failed.",
  next: "Restart the gateway. If it is running, look at its log.",
  runbook: "/docs/guide/operators/runbook#tollgategatewaydown",
});

const Unknown = ({ isUnread }: { isUnread: boolean }) =>
  isUnread ? (
    <Notice tone="warn" title={<span className="text-lg font-semibold">Unknown: the gateway is slow to answer</span>}>
      The figures below may be outdated.
    </Notice>
  ) : (
    <div data-loading="">
      <Skeleton className="h-18 w-full" />
    </div>
  );
