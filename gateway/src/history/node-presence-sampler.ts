/** Samples connected nodes and their load, once per time slot. */
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { HOUR_MS } from "../base/time.ts";
import { isDatabaseUnreachable } from "../db/errors.ts";
import type { NodePresence, NodeSample } from "./node-presence.ts";

const FORGET_EVERY_MS = HOUR_MS;

interface SamplingOptions {
  presence: NodePresence;
  everyMs: number;
  /**
   * Returns the connected nodes. Undefined while this gateway cannot see them; another gateway's sample counts then.
   */
  look: () => NodeSample[] | undefined;
  clock: Clock;
  log: Log;
}

export function startNodePresenceSampler({
  presence,
  everyMs,
  look,
  clock,
  log,
}: SamplingOptions): () => Promise<void> {
  let running: Promise<void> = Promise.resolve();
  const trying = (what: string, work: () => Promise<void>): void => {
    running = work().catch((error) =>
      log[isDatabaseUnreachable(error) ? "debug" : "warn"]({ err: error }, `${what} failed`),
    );
  };
  const stops = [
    clock.every(everyMs, () => {
      const seen = look();
      if (seen !== undefined) trying("sampling connected nodes", () => presence.sample(seen));
    }),
    clock.every(FORGET_EVERY_MS, () => trying("deleting old node samples", () => presence.forget())),
  ];
  return async () => {
    for (const stop of stops) stop();
    await running;
  };
}
