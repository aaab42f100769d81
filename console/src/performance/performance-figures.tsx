/** The total figures of a performance query, side by side. */
import type { UseQueryResult } from "@tanstack/react-query";
import type { Performance, PerformanceRow } from "../api/answer-types.ts";
import { formatDuration } from "../format-time.ts";
import { decimalText, formatPercent, formatWholeNumber } from "../locale.ts";
import { StatGrid } from "../ui/card.tsx";
import { LoadedStat } from "../ui/loading-states.tsx";

type Figures = Pick<PerformanceRow, "error_share" | "tokens_per_second">;

export const formatMilliseconds = (ms: number | null): string => (ms === null ? "–" : formatDuration(ms));
export const formatSpeed = ({ tokens_per_second: speed }: Figures): string =>
  speed === null ? "–" : decimalText(speed);
export const formatErrorShare = ({ error_share: share }: Figures): string =>
  share === null ? "–" : formatPercent(share);

/** Shows the query's totals. `words`: the time range in words. */
export function PerformanceFigures({ query, words }: { query: UseQueryResult<Performance>; words: string }) {
  const others = ({ p50, p99 }: Performance["total"]["ttft_ms"]) => (
    <>
      <span className="whitespace-nowrap">p50 {formatMilliseconds(p50)},</span>{" "}
      <span className="whitespace-nowrap">p99 {formatMilliseconds(p99)}</span>
    </>
  );
  return (
    <StatGrid label={`Performance in ${words}`}>
      <LoadedStat query={query} label="First token, p95" note={({ total }) => others(total.ttft_ms)}>
        {({ total }) => formatMilliseconds(total.ttft_ms.p95)}
      </LoadedStat>
      <LoadedStat query={query} label="Duration, p95" note={({ total }) => others(total.duration_ms)}>
        {({ total }) => formatMilliseconds(total.duration_ms.p95)}
      </LoadedStat>
      <LoadedStat query={query} label="Tokens per second" note={() => "After the first token"}>
        {({ total }) => formatSpeed(total)}
      </LoadedStat>
      <LoadedStat query={query} label="Error rate" note={({ total }) => failuresText(total)}>
        {({ total }) => formatErrorShare(total)}
      </LoadedStat>
    </StatGrid>
  );
}

/** For example "3 of 1,204 failed, 6 clients disconnected". */
function failuresText({ ok, failed, closed }: Performance["total"]): string {
  const failures = `${formatWholeNumber(failed)} of ${formatWholeNumber(ok + failed)} failed`;
  return closed === 0
    ? failures
    : `${failures}, ${formatWholeNumber(closed)} ${closed === 1 ? "client" : "clients"} disconnected`;
}
