/**
 * Tells the gateway that a job goes on, from when it is accepted to its first output: while it waits for a sequence, while a grammar is
 * made, and while the prompt is read. On a slow or busy machine a single step takes longer than the 2 s after which a gateway takes
 * silence for a stall. The work is done in this process, so that it goes on is known without the engine saying so.
 */
import type { Clock } from "../../clock.ts";
import type { Sink } from "../engine.ts";

export const TELL_EVERY_MS = 1_000;

export interface Reading {
  /** So much of it is done, from 0 to 1. */
  reached(fraction: number): void;
  /** Output has begun or the job is over, so no more progress is sent. */
  end(): void;
}

export function tellReading(sink: Pick<Sink, "progress">, clock: Clock): Reading {
  let done = 0;
  const end = clock.every(TELL_EVERY_MS, () => sink.progress(done));
  return {
    reached(fraction) {
      done = fraction;
      sink.progress(done);
    },
    end,
  };
}
