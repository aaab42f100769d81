/** Drains a gateway: stops serving in order, without losing a request that has time to end. */
import { type Clock, sleep } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { InFlight } from "../inference/in-flight.ts";

/** A connection that carries nothing stays for so long after no one new is taken: a request may be on its way on it. */
const QUIET_MS = 1_000;
/** At the end of the grace what is left is told its end, and has so long to be settled and to read it. */
const LAST_WORDS_MS = 5_000;

export interface DrainTimes {
  /** Not ready, but serving as before: load balancers need that long to notice. */
  delayMs: number;
  /** How long requests in flight have to end. */
  graceMs: number;
  /** How long the database has then to take what waits in the spool. None where it is not given: the next gateway enters it. */
  spoolMs?: number;
}

const LOOK_EVERY_MS = 1_000;

/** What is told of the drain: the doors, and what the gateway does by itself. */
interface Drained {
  inFlight: InFlight;
  /** `/readyz` says from now on that the gateway is about to stop. It serves as before, but begins no jobs of its own. */
  notReady: () => void;
  /** Takes no more connections and ends those that there are, quiet ones after `quietMs`. Resolves when none is left. */
  leave: (quietMs: number) => Promise<void>;
  /** Ends every connection at once. */
  cutOff: () => void;
  isSpoolEmpty: () => Promise<boolean>;
}

/**
 * First `/readyz` says so, and for `delayMs` everything is served as before. Then no one new is taken, and what is in flight has
 * `graceMs` to end. What has not is ended, settled and told so. Where there is no delay no one is to be waited for, and quiet
 * connections are closed at once.
 */
export async function drain(
  { inFlight, notReady, leave, cutOff, isSpoolEmpty }: Drained,
  { delayMs, graceMs, spoolMs = 0, clock, log }: DrainTimes & { clock: Clock; log: Log },
): Promise<void> {
  log.info({ delayMs, graceMs }, "draining: /readyz now returns 503");
  notReady();
  if (delayMs > 0) await sleep(clock, delayMs);
  let stopTimer = clock.after(graceMs, () => {
    log.warn({ requests: inFlight.count }, "drain timeout reached: ending the requests still in flight");
    inFlight.stop();
    stopTimer = clock.after(LAST_WORDS_MS, cutOff);
  });
  await leave(Math.min(QUIET_MS, delayMs, graceMs));
  // Who has left keeps its request's books open for a moment longer.
  await inFlight.none();
  stopTimer();
  const began = clock.monotonic();
  let isTold = false;
  while (clock.monotonic() - began < spoolMs && !(await isSpoolEmpty())) {
    if (!isTold) log.warn({ spoolMs }, "waiting until the database accepts the charges in the spool");
    isTold = true;
    await sleep(clock, LOOK_EVERY_MS);
  }
}
