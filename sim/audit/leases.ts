/**
 * A living request does not lose its hold: while its gateway lives, its lease is renewed, answered and not yet settled or not. But a
 * gateway that does not reach the store, while others do, cannot renew: what its leases lose is settled late.
 */
import type { Uuid } from "../../gateway/src/base/ids.ts";
import type { Sight } from "../actors/client.ts";
import type { Stage } from "../stage/stage.ts";

/** A lease lasts a minute, and the last renewal was at most a quarter of that before. */
const RENEWED_BEFORE_MS = 40_000;
/** When the gateway is back it renews at once; whoever sweeps may be faster. */
const RENEWED_AGAIN_MS = 5_000;

export class LeasesAudit {
  readonly #stage: Stage;
  /** Those that are known to have lost their holds. */
  readonly #seen = new Set<Uuid>();

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  look(): void {
    const { world, sights } = this.#stage;
    for (const sight of sights) {
      if (sight.gatewayEndedMs !== null || this.#seen.has(sight.id)) continue;
      // A refused one may wait to be given back; it is dispatched to no one.
      if (world.ledgerModel.requests.get(sight.id)?.outcome !== "gateway_lost" || sight.end === "refused") continue;
      this.#seen.add(sight.id);
      if (!this.#wasCutOff(sight))
        world.fail("a living request keeps its hold", `${sight.id}: its lease ran out, and its gateway lives`);
    }
  }

  #wasCutOff({ machine }: Sight): boolean {
    const { store, scheduler } = this.#stage.world;
    return store.cuts.some(
      (cut) =>
        cut.machine === machine &&
        cut.toMs + RENEWED_AGAIN_MS >= scheduler.nowMs &&
        Math.min(cut.toMs, scheduler.nowMs) - cut.fromMs >= RENEWED_BEFORE_MS,
    );
  }
}
