/** Waits for a stop signal or a fatal error. */
import { systemClock } from "../base/clock.ts";

/**
 * Signals within this time count as one. Ctrl-C causes two: the terminal signals the process group, and npm forwards
 * its signal.
 */
const ECHO_MS = 500;

export interface StopRequest {
  /** Resolves at the first SIGINT or SIGTERM, or to a fatal error. */
  asked: Promise<Error | undefined>;
  now(error?: Error): void;
}

/** A second signal ends the process immediately. */
export function waitForStopSignal(): StopRequest {
  const { promise: asked, resolve } = Promise.withResolvers<Error | undefined>();
  let askedAt: number | undefined;
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      const now = systemClock.monotonic();
      askedAt ??= now;
      if (now - askedAt > ECHO_MS) process.exit(130);
      resolve(undefined);
    });
  }
  return { asked, now: (error) => resolve(error) };
}
