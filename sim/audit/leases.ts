/**
 * Audits that a request in flight does not lose its hold: a running gateway renews the lease until the request is settled. Exception: a
 * gateway that cannot reach the database while others can. Requests whose leases expire that way are settled late.
 */
import type { Uuid } from "../../gateway/src/base/ids.ts";
import type { Sight } from "../actors/client.ts";
import type { Stage } from "../stage/stage.ts";

/** Leases last 60 s and are renewed every 15 s at most. */
const RENEWED_BEFORE_MS = 40_000;
/** A gateway that reconnects renews immediately, but another gateway's sweep may be earlier. */
const RENEWED_AGAIN_MS = 5_000;

export class LeasesAudit {
  readonly #stage: Stage;
  /** Requests whose hold is known to have expired. */
  readonly #seen = new Set<Uuid>();

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  look(): void {
    const { world, sights } = this.#stage;
    for (const sight of sights) {
      if (sight.gatewayEndedMs !== null || this.#seen.has(sight.id)) continue;
      // A refused request is dispatched to no node; its hold may wait for its release.
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
