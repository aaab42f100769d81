/** Drains a gateway: stops it step by step, without losing a request that can still end in time. */
import { type Clock, sleep } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { InFlightRequests } from "../inference/in-flight.ts";

/**
 * How long idle connections stay open after the gateway stops accepting new ones, because a request may be arriving.
 */
const QUIET_MS = 1_000;
/**
 * After the grace period, the remaining requests fail. This is the time for settling them and for their clients to read
 * the responses, before all connections are closed.
 */
const LAST_WORDS_MS = 5_000;

export interface DrainTimes {
  /** How long the gateway reports not ready but still serves, so that load balancers notice. */
  delayMs: number;
  /** The maximum time that requests in flight may take to end. */
  graceMs: number;
  /**
   * The maximum wait for the database to accept the settlements in the spool. Undefined: no wait; the next gateway that
   * uses this spool enters them.
   */
  spoolMs?: number;
}

const LOOK_EVERY_MS = 1_000;

/** The parts of the gateway that a drain controls. */
interface Drained {
  inFlight: InFlightRequests;
  /** Makes `/readyz` report that the gateway is stopping. Requests are still served, but no background job starts. */
  notReady: () => void;
  /** Stops accepting connections and closes existing ones, idle ones after `quietMs`. Resolves when none is left. */
  leave: (quietMs: number) => Promise<void>;
  /** Closes all connections immediately. */
  cutOff: () => void;
  isSpoolEmpty: () => Promise<boolean>;
}

/**
 * Reports not ready and serves normally for `delayMs`. Then accepts no more connections, and gives requests in flight
 * `graceMs` to end. Requests that remain then fail and are settled. Without a delay, idle connections are closed at
 * once.
 */
export async function drainGateway(
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
  // A request whose client disconnected is settled a moment later, so wait for it too.
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
