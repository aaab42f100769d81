/** A request's timeline: waiting for a node, then until the first token, then until the end. */
import type { RequestRecord } from "../../api/answer-types.ts";
import { formatDuration } from "../../format-time.ts";
import { TimeText } from "../../ui/time-text.tsx";
import { type RequestPhase, splitIntoPhases } from "./request-phases.ts";

const COLOURS: Record<RequestPhase["name"], string> = {
  Queued: "fill-chart-7",
  "First token": "fill-chart-3",
  Generating: "fill-chart-1",
};

export function RequestTimeline({ request }: { request: RequestRecord }) {
  const stages = splitIntoPhases(request);
  const total = stages.at(-1)?.endMs ?? 0;
  return (
    <div>
      <p className="mb-3 text-ink-soft">
        Started <TimeText at={request.created_at} as="full" />
        {total > 0 && <>, took {formatDuration(total)}</>}
        {request.attempts > 1 && <>. {request.attempts} nodes were tried: waiting includes the earlier ones</>}
      </p>
      {stages.length === 0 ? (
        <p className="text-ink-soft">The request was rejected before it started.</p>
      ) : (
        <ol className="flex flex-col gap-2.5">
          {stages.map(({ name, startMs, endMs }) => (
            <li key={name} className="grid grid-cols-[6.5rem_1fr_4.5rem] items-center gap-3">
              <span>{name}</span>
              <svg
                aria-hidden
                viewBox="0 0 100 8"
                preserveAspectRatio="none"
                className="h-2 w-full rounded-full bg-sunken"
              >
                <rect
                  x={(startMs / total) * 100}
                  width={Math.max(((endMs - startMs) / total) * 100, 0.75)}
                  height="8"
                  className={COLOURS[name]}
                />
              </svg>
              <span className="text-right text-ink-soft">{formatDuration(endMs - startMs)}</span>
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}
