/** Splits a request's duration into stages, using the times in its record. */
import type { RequestRecord } from "../../api/answer-types.ts";

export interface RequestPhase {
  name: "Queued" | "First token" | "Generating";
  startMs: number;
  endMs: number;
}

/**
 * `queue_ms` and `ttft_ms` count from the start of dispatch to a node's acceptance and to the first token.
 * `duration_ms` also includes the few milliseconds before dispatch. Stages that the request did not reach are omitted.
 */
export function splitIntoPhases(request: Pick<RequestRecord, "queue_ms" | "ttft_ms" | "duration_ms">): RequestPhase[] {
  const { duration_ms: end, queue_ms: queued, ttft_ms: first } = request;
  if (end === null || end === 0) return [];
  const taken = Math.min(queued ?? end, end);
  const begun = Math.min(Math.max(first ?? end, taken), end);
  const stages: RequestPhase[] = [{ name: "Queued", startMs: 0, endMs: taken }];
  if (queued !== null) stages.push({ name: "First token", startMs: taken, endMs: begun });
  if (first !== null) stages.push({ name: "Generating", startMs: begun, endMs: end });
  return stages;
}
