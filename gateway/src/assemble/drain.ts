/** Drains a gateway: stops serving in order, without losing a request that has time to end. */
import { type Clock, sleep } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { InFlight } from "../inference/in-flight.ts";

/** Idle connections stay open for this long after the gateway stops accepting, because a request may be arriving on one. */
const QUIET_MS = 1_000;
/** After the grace period the remaining requests fail, and have this long to be settled and read. */
const LAST_WORDS_MS = 5_000;

export interface DrainTimes {
  /** How long the gateway reports not ready but serves, so that load balancers notice. */
  delayMs: number;
  /** How long requests in flight may take to end. */
  graceMs: number;
  /** How long the database then has to take the spool. Absent: none; the next gateway enters it. */
  spoolMs?: number;
}

const LOOK_EVERY_MS = 1_000;

/** The parts of the gateway that take part in the shutdown. */
interface Drained {
  inFlight: InFlight;
  /** `/readyz` reports from now on that the gateway stops. Requests are still served, but background jobs do not start. */
  notReady: () => void;
  /** Stops accepting connections and closes those that exist, idle ones after `quietMs`. Resolves when none is left. */
  leave: (quietMs: number) => Promise<void>;
  /** Closes all connections immediately. */
  cutOff: () => void;
  isSpoolEmpty: () => Promise<boolean>;
}

/**
 * Reports not ready and serves normally for `delayMs`. Then accepts no more connections and lets requests in flight end within `graceMs`;
 * the rest fail and are settled. Without a delay, idle connections are closed at once.
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
  // A request whose client left is settled a moment later.
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
