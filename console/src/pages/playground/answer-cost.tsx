/** The tokens, cost and speed of an answer. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { PriceSheetEntry } from "../../api/answer-types.ts";
import { queryClient } from "../../data/query-client.ts";
import { recentRequestsQuery } from "../../data/requests.ts";
import { formatDuration } from "../../format-time.ts";
import { MoneyText } from "../../ui/money-text.tsx";
import { CountText } from "../../ui/time-text.tsx";
import { type Answer, computeAnswerCost, type Usage } from "./answer-state.ts";

/** The number of recent requests among which the answer's record is searched. */
const NEWEST = 20;
/** The maximum number of repeated searches. They are needed because a request is recorded a moment after it ended. */
const LOOKS_MAX = 8;
const LOOK_AGAIN_MS = 400;

export function AnswerCost({ answer, model }: { answer: Answer; model: PriceSheetEntry | undefined }) {
  const { usage, requestId, fault } = answer;
  if (fault?.refused === true) return <Line answer={answer}>Nothing was billed</Line>;
  if (requestId === undefined)
    return <Line answer={answer}>If the request ran, its cost is in your request history</Line>;
  if (usage !== undefined && model !== undefined) {
    return (
      <Line answer={answer}>
        <Counted usage={usage} pico={computeAnswerCost(usage, model)} />
      </Line>
    );
  }
  return <FromRecord answer={answer} requestId={requestId} />;
}

/** The cost of an incomplete answer. It has no token count, so its request record is read. */
function FromRecord({ answer, requestId }: { answer: Answer; requestId: string }) {
  const record = useQuery({
    queryKey: ["playground record", requestId],
    queryFn: async () => {
      const { data } = await queryClient.fetchQuery({ ...recentRequestsQuery(NEWEST), staleTime: 0 });
      const found = data.find(({ id }) => id === requestId);
      if (found === undefined) throw new Error("not recorded yet");
      return found;
    },
    staleTime: Number.POSITIVE_INFINITY,
    retry: LOOKS_MAX,
    retryDelay: LOOK_AGAIN_MS,
  });
  return (
    <Line answer={answer}>
      {record.data !== undefined ? (
        <Counted usage={record.data.usage} pico={record.data.charge_micro} />
      ) : record.isError ? (
        "Its cost is in your request history"
      ) : (
        "Counting…"
      )}
    </Line>
  );
}

const Counted = ({ usage, pico }: { usage: Usage; pico: bigint | string }) => (
  <>
    <span>
      <CountText of={usage.prompt_tokens} /> in, <CountText of={usage.completion_tokens} /> out
    </span>
    <span className="font-medium text-ink" data-testid="cost">
      <MoneyText of={pico} />
    </span>
  </>
);

function Line({ answer, children }: { answer: Answer; children: ReactNode }) {
  const { state, interrupted, requestId, model, sentAtMs, firstAtMs, endedAtMs, usage } = answer;
  const streamMs = firstAtMs !== undefined && endedAtMs !== undefined ? endedAtMs - firstAtMs : 0;
  return (
    <p className="flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-ink-soft">
      <span>{model}</span>
      {state === "stopped" && <span>{interrupted ? "interrupted by a page reload" : "stopped by you"}</span>}
      {children}
      {firstAtMs !== undefined && <span>first token after {formatDuration(firstAtMs - sentAtMs)}</span>}
      {state === "finished" && endedAtMs !== undefined && <span>{formatDuration(endedAtMs - sentAtMs)} total</span>}
      {usage !== undefined && streamMs > 100 && (
        <span>
          <CountText of={Math.round((usage.completion_tokens * 1000) / streamMs)} /> tokens/s
        </span>
      )}
      {requestId !== undefined && (
        <Link to="/requests" search={{ request: requestId }} className="text-accent underline-offset-2 hover:underline">
          Details
        </Link>
      )}
    </p>
  );
}
