/** A living request does not lose its hold: while its gateway lives, its lease is renewed, answered and not yet settled or not. */
import type { Stage } from "../stage/stage.ts";

export function auditLeases({ world, sights }: Stage): void {
  for (const sight of sights) {
    if (sight.gatewayEndedMs !== null) continue;
    const record = world.books.requests.get(sight.id);
    // A refused one may wait to be given back; it is dispatched to nobody.
    if (record?.outcome !== "gateway_lost" || sight.end === "refused") continue;
    world.fail("a living request keeps its hold", `${sight.id}: its lease ran out, and its gateway lives`);
  }
}
