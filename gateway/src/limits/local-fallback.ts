/**
 * Limits with a local fallback, for operators who prefer to serve requests while the shared limits server is
 * unreachable (`LIMITS_WHEN_AWAY=local`). The gateway then counts its share of every limit in memory. All gateways
 * together stay within the limits if requests are spread evenly. Response headers contain the share. The two counts are
 * never merged: after a switch, a minute starts at zero on the other side, and a request ends on the side where it was
 * counted.
 */
import type { Clock } from "../base/clock.ts";
import { openMemoryLimits } from "./in-memory-limits.ts";
import { assertValidCount, type KeyLimits, type Limits, LimitsUnavailable } from "./limits.ts";

interface LocalOptions {
  shared: Limits;
  clock: Clock;
  /** Returns the number of running gateways, including this one. */
  gateways: () => number;
}

export function limitsWithLocalFallback({ shared, clock, gateways }: LocalOptions): Limits {
  const local = openMemoryLimits({ clock });
  /**
   * At least one, because a limit lower than the number of gateways would otherwise refuse everything. A limit of zero
   * stays zero.
   */
  const share = (limit: number): number => {
    assertValidCount("limit", limit);
    return limit === 0 ? 0 : Math.max(1, Math.floor(limit / Math.max(1, gateways())));
  };
  const shareOf = ({ requestsPerMinute, tokensPerMinute, inFlight }: KeyLimits): KeyLimits => ({
    requestsPerMinute: share(requestsPerMinute),
    tokensPerMinute: share(tokensPerMinute),
    inFlight: share(inFlight),
  });

  return {
    health: shared.health,
    get evicts() {
      return shared.evicts;
    },
    enter: (keyId, id, limits) =>
      orElse(shared.enter(keyId, id, limits), () => local.enter(keyId, id, shareOf(limits))),
    standing: (keyId, limits) => orElse(shared.standing(keyId, limits), () => local.standing(keyId, shareOf(limits))),
    enterModel: (model, id, ceiling, account) =>
      orElse(shared.enterModel(model, id, ceiling, account), () =>
        local.enterModel(model, id, share(ceiling), account),
      ),
    // Calls the shared and the local limits. The one that did not count the request ignores the call.
    async leave(keyId, id, tokens) {
      await Promise.all([local.leave(keyId, id, tokens), shared.leave(keyId, id, tokens)]);
    },
    async leaveModel(model, id) {
      await Promise.all([local.leaveModel(model, id), shared.leaveModel(model, id)]);
    },
    async close() {
      await Promise.all([local.close(), shared.close()]);
    },
  };
}

async function orElse<T>(answer: Promise<T>, alone: () => Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof LimitsUnavailable)) throw error;
    return await alone();
  }
}
