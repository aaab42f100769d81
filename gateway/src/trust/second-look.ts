/**
 * Asks a node one question of our own before misses are held against it: a prompt that no builder wrote shows whether the
 * node answers at all. To the node it looks like a request.
 */
import type { Clock } from "../base/clock.ts";
import type { PrivateJob, PrivateResult } from "../inference/private-job.ts";

const ANSWER_MS_MAX = 30_000;

/** `unasked`: it is not connected, refused the job, or this gateway stops. */
export type SecondLook = "answered" | "empty" | "failed" | "unasked";

export interface SecondLookOptions {
  run: (job: PrivateJob, signal: AbortSignal) => Promise<PrivateResult | undefined>;
  clock: Clock;
}

export async function takeSecondLook(
  { run, clock }: SecondLookOptions,
  job: PrivateJob,
  stopped: AbortSignal,
): Promise<SecondLook> {
  const deadline = new AbortController();
  const stopTimer = clock.after(ANSWER_MS_MAX, () => deadline.abort());
  const result = await run(job, AbortSignal.any([stopped, deadline.signal])).finally(stopTimer);
  if (result === undefined || result.end === "no_capacity" || stopped.aborted) return "unasked";
  if (result.end !== "finished" && result.end !== "enough") return "failed";
  return result.completionTokens > 0 || result.vectors.length > 0 ? "answered" : "empty";
}
