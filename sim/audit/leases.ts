/**
 * A living request does not lose its hold: while its gateway lives, the gateway renews the hold's lease, whether the
 * request is answered and settled yet or not. The exception is a gateway that does not reach the database while others
 * do: it cannot renew, and requests whose leases expire are settled late.
 */
import type { Uuid } from "../../gateway/src/base/ids.ts";
import type { ClientObservation } from "../actors/client.ts";
import type { Stage } from "../stage/stage.ts";

/** A lease lasts one minute, and a gateway renews it at least every quarter of a minute. */
const RENEWED_BEFORE_MS = 40_000;
/** A gateway that reaches the database again renews at once, but another gateway's sweep may come first. */
const RENEWED_AGAIN_MS = 5_000;

export class LeasesAudit {
  readonly #stage: Stage;
  /** Requests that are already known to have lost their holds. */
  readonly #seen = new Set<Uuid>();

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  look(): void {
    const { world, sights } = this.#stage;
    for (const sight of sights) {
      if (sight.gatewayEndedMs !== null || this.#seen.has(sight.id)) continue;
      // The hold of a refused request may wait to be released; such a request is dispatched to no node.
      if (world.ledgerModel.requests.get(sight.id)?.outcome !== "gateway_lost" || sight.end === "refused") continue;
      this.#seen.add(sight.id);
      if (!this.#wasCutOff(sight))
        world.fail("a living request keeps its hold", `${sight.id}: its lease ran out, and its gateway lives`);
    }
  }

  #wasCutOff({ machine }: ClientObservation): boolean {
    const { store, scheduler } = this.#stage.world;
    return store.cuts.some(
      (cut) =>
        cut.machine === machine &&
        cut.toMs + RENEWED_AGAIN_MS >= scheduler.nowMs &&
        Math.min(cut.toMs, scheduler.nowMs) - cut.fromMs >= RENEWED_BEFORE_MS,
    );
  }
}
