/** Samples the availability of models, once per time slot. */
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { HOUR_MS } from "../base/time.ts";
import { isDatabaseUnreachable } from "../db/errors.ts";
import type { ModelAvailability, ModelSample } from "./model-availability.ts";

/**
 * The point within a slot at which it is sampled. Nodes have time to connect after a start, and a late timer misses no
 * slot.
 */
const INTO_SLOT = 1 / 6;
const FORGET_EVERY_MS = HOUR_MS;

interface SamplingOptions {
  availability: ModelAvailability;
  everyMs: number;
  look: () => ModelSample[];
  clock: Clock;
  log: Log;
}

export function startModelAvailabilitySampler({
  availability,
  everyMs,
  look,
  clock,
  log,
}: SamplingOptions): () => Promise<void> {
  const tell = (what: string) => (error: unknown) =>
    log[isDatabaseUnreachable(error) ? "debug" : "warn"]({ err: error }, `${what} failed`);
  let running = Promise.resolve();
  let cancel: () => void;
  let isStopped = false;
  const schedule = (delayMs: number): void => {
    if (!isStopped) cancel = clock.after(delayMs, sample);
  };
  const sample = (): void => {
    running = availability.sample(look()).then(
      ({ nextInMs }) => schedule(nextInMs + everyMs * INTO_SLOT),
      (error) => {
        tell("sampling model availability")(error);
        schedule(everyMs * INTO_SLOT);
      },
    );
  };
  schedule(everyMs * INTO_SLOT);
  const stopForgetting = clock.every(FORGET_EVERY_MS, () => {
    availability.forget().catch(tell("deleting old availability samples"));
  });
  return async () => {
    isStopped = true;
    cancel();
    stopForgetting();
    await running;
  };
}
