/**
 * Renews the holds of running requests and of spooled settlements (those on disk), and expires the holds of dead
 * gateways. A hold that is not renewed is released when its lease ends, so a crash cannot lock up credit. While the
 * database is unreachable, leases do not expire (`ledger_sweep`). Renewal is retried often, so that it succeeds as
 * soon as the database is back.
 */
import type { Clock } from "../base/clock.ts";
import type { Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import { isRetryableDatabaseError } from "../db/errors.ts";
import { HOLD_LEASE_MS, type Ledger } from "./ledger.ts";

/**
 * How often a lease is renewed before it ends. A running request survives three failed renewals, and the hold of a dead
 * one ends soon.
 */
const RENEWALS_PER_LEASE = 4;
const SWEEPS_PER_LEASE = 12;
const RENEW_AGAIN_MS = 1_000;

export interface HoldLeases {
  /** Renews the request's hold until the returned function is called. */
  keep(id: Uuid): () => void;
  readonly alive: number;
  stop(): void;
}

interface LeaseOptions {
  ledger: Pick<Ledger, "renew" | "expire" | "unsettled">;
  clock: Clock;
  log: Log;
  holdLeaseMs?: number;
}

export function openHoldLeases(options: LeaseOptions): HoldLeases {
  const { ledger, clock, log, holdLeaseMs = HOLD_LEASE_MS } = options;
  const alive = new Set<Uuid>();
  const renewals = oneAtATime("renewing holds", log, () => ledger.renew([...alive, ...ledger.unsettled()]));
  const sweeps = oneAtATime("sweeping expired holds", log, async () => {
    const expired = await ledger.expire();
    if (expired > 0) log.warn({ expired }, "released expired holds, because their gateway stopped renewing them");
  });
  const stopping = [
    clock.every(holdLeaseMs / RENEWALS_PER_LEASE, renewals.run),
    clock.every(Math.min(RENEW_AGAIN_MS, holdLeaseMs / RENEWALS_PER_LEASE), () => {
      if (renewals.isFailing) renewals.run();
    }),
    clock.every(holdLeaseMs / SWEEPS_PER_LEASE, sweeps.run),
  ];
  return {
    keep(id) {
      alive.add(id);
      return () => alive.delete(id);
    },
    get alive() {
      return alive.size;
    },
    stop() {
      for (const stop of stopping) stop();
    },
  };
}

/** Returns a task that can be started repeatedly without overlapping runs. Logs an outage once. */
function oneAtATime(what: string, log: Log, work: () => Promise<void>) {
  let [isRunning, isFailing] = [false, false];
  const failed = (error: unknown): void => {
    // Debug level for outages of the database, which the database guard logs.
    if (!isFailing)
      log[isRetryableDatabaseError(error) ? "debug" : "error"]({ err: error }, `${what} failed; retrying`);
    isFailing = true;
  };
  return {
    run(): void {
      if (isRunning) return;
      isRunning = true;
      work()
        .then(() => {
          isFailing = false;
        }, failed)
        .finally(() => {
          isRunning = false;
        });
    },
    get isFailing() {
      return isFailing;
    },
  };
}
