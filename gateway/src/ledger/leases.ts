/**
 * Keeps the holds of living requests alive and ends those of dead gateways. A hold that is not renewed is given back
 * when its lease ends, so a crash can never strand a builder's credit.
 */
import type { Clock } from "../base/clock.ts";
import type { Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import type { Ledger } from "./ledger.ts";

const RENEW_EVERY_MS = 15_000;
const SWEEP_EVERY_MS = 5_000;

export interface Leases {
  /** The request is alive until the returned function is called. */
  keep(id: Uuid): () => void;
  readonly alive: number;
  stop(): void;
}

export function keepLeases(options: { ledger: Ledger; clock: Clock; log: Log }): Leases {
  const { ledger, clock, log } = options;
  const alive = new Set<Uuid>();
  const failed = (what: string) => (error: unknown) => log.error({ err: error }, `${what} failed; trying again later`);
  const stopRenewing = clock.every(RENEW_EVERY_MS, () => {
    ledger.renew([...alive]).catch(failed("renewing holds"));
  });
  const stopSweeping = clock.every(SWEEP_EVERY_MS, () => {
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
