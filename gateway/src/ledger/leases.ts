/**
 * Keeps the holds of living requests alive and ends those of dead gateways. A hold that is not renewed is given back
 * when its lease ends, so a crash can never strand a builder's credit.
 */
import type { Clock } from "../base/clock.ts";
import type { Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import { HOLD_LEASE_MS, type Ledger } from "./ledger.ts";

/** Parts of a lease: three renewals may fail before a living request loses its hold, and a dead one's ends soon after. */
const RENEWALS_PER_LEASE = 4;
const SWEEPS_PER_LEASE = 12;

export interface Leases {
  /** The request is alive until the returned function is called. */
  keep(id: Uuid): () => void;
  readonly alive: number;
  stop(): void;
}

export function keepLeases(options: { ledger: Ledger; clock: Clock; log: Log; holdLeaseMs?: number }): Leases {
  const { ledger, clock, log, holdLeaseMs = HOLD_LEASE_MS } = options;
  const alive = new Set<Uuid>();
  const failed = (what: string) => (error: unknown) => log.error({ err: error }, `${what} failed; trying again later`);
  const stopRenewing = clock.every(holdLeaseMs / RENEWALS_PER_LEASE, () => {
    ledger.renew([...alive]).catch(failed("renewing holds"));
  });
  const stopSweeping = clock.every(holdLeaseMs / SWEEPS_PER_LEASE, () => {
    ledger.expire().then((expired) => {
      if (expired > 0) log.warn({ expired }, "gave back the holds of a gateway that stopped renewing them");
    }, failed("sweeping expired holds"));
  });
  return {
    keep(id) {
      alive.add(id);
      return () => alive.delete(id);
    },
    get alive() {
      return alive.size;
    },
    stop() {
      stopRenewing();
      stopSweeping();
    },
  };
}
