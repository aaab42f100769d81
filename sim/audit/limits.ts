/**
 * Limits hold at every moment. A request that holds credit and has no answer yet has its key's slot, so that there are never more
 * of those than the key may have in flight; and a key that was revoked more than a minute ago begins nothing.
 */
import type { Stage } from "../stage/stage.ts";

/** A revocation takes hold within a minute where nobody could be told of it (decisions §13), and a moment for what is under way. */
const REVOKED_MS_MAX = 62_000;

export function auditLimits({ world, sights, builders }: Stage): void {
  const { nowMs } = world.scheduler;
  const open = new Map<number, number>();
  for (let i = sights.length - 1; i >= 0; i--) {
    const sight = sights[i] as (typeof sights)[number];
    // The oldest are over: no request lasts so long.
    if (nowMs - sight.askedMs > REVOKED_MS_MAX) break;
    if (sight.end !== null || !world.books.holds.has(sight.id)) continue;
    open.set(sight.ask.account, (open.get(sight.ask.account) ?? 0) + 1);
    const revokedMs = builders[sight.ask.account]?.key.revokedMs ?? null;
    if (revokedMs !== null && sight.askedMs - revokedMs > REVOKED_MS_MAX)
      world.fail("a revoked key begins nothing", `${sight.id} was admitted ${sight.askedMs - revokedMs} ms later`);
  }
  for (const [account, count] of open) {
    const limit = builders[account]?.key.inFlight ?? null;
    if (limit !== null && count > limit)
      world.fail("a key has no more in flight than it may", `account ${account}: ${count} of ${limit}`);
  }
}
