/**
 * Reports progress from a job's acceptance to its first output: while it waits for a sequence, while a grammar is
 * built, and while the prompt is read. On a slow or busy machine, a single step can exceed the 2 s after which a
 * gateway assumes a stall. The work runs in this process, so the engine is known to be alive.
 */
import type { Clock } from "../../clock.ts";
import type { OutputSink } from "../engine.ts";

export const PROGRESS_EVERY_MS = 1_000;

export interface PromptProgress {
  /** Sets the finished fraction, from 0 to 1. */
  reached(fraction: number): void;
  /** Ends the reports, because output has begun or the job is over. */
  end(): void;
}

export function reportPromptProgress(sink: Pick<OutputSink, "progress">, clock: Clock): PromptProgress {
  let done = 0;
  const end = clock.every(PROGRESS_EVERY_MS, () => sink.progress(done));
  return {
    reached(fraction) {
      done = fraction;
      sink.progress(done);
    },
    end,
  };
}
