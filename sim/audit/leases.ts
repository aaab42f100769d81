/**
 * Checks that a living request keeps its hold: while its gateway lives, the gateway renews the hold's lease, whether
 * the request is answered and settled yet or not. The hold of a refused request is released and does not expire either.
 * The exception is a gateway that does not reach the database while others do. It can neither renew nor release, and
 * requests whose leases expire are settled late.
 */
import type { Uuid } from "../../gateway/src/base/ids.ts";
import type { ClientObservation } from "../actors/client.ts";
import type { WorldParticipants } from "../stage/world-participants.ts";

/**
 * How long a gateway must lack the database before leases can expire, in milliseconds. A lease lasts one minute, and a
 * gateway renews it at least every 15 s.
 */
const RENEWED_BEFORE_MS = 40_000;
/**
 * How long after the database is back a lease may still expire. The gateway renews at once, but another gateway may end
 * expired holds first.
 */
const RENEWED_AGAIN_MS = 5_000;

export class LeasesAudit {
  readonly #stage: WorldParticipants;
  /** Requests that were already reported or excused for losing their holds. */
  readonly #seen = new Set<Uuid>();

  constructor(stage: WorldParticipants) {
    this.#stage = stage;
  }

  look(): void {
    const { world, sights } = this.#stage;
    for (const sight of sights) {
      if (sight.gatewayEndedMs !== null || this.#seen.has(sight.id)) continue;
      if (world.ledgerModel.requests.get(sight.id)?.outcome !== "gateway_lost") continue;
      this.#seen.add(sight.id);
      const rule = sight.end === "refused" ? "a refused request's hold is released" : "a living request keeps its hold";
      if (!this.#wasCutOff(sight)) world.fail(rule, `${sight.id}: its lease ran out, and its gateway lives`);
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
