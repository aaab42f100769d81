/**
 * Limits with a fallback for operators who prefer serving over refusing while the shared server is unreachable (`LIMITS_WHEN_AWAY=local`):
 * the gateway then counts in memory with its share of every limit. All gateways together stay within the limits if requests are spread
 * evenly. Response headers report the share. The two counts are never merged: after a switch a minute starts at zero in the other place,
 * and requests leave where they were entered.
 */
import type { Clock } from "../base/clock.ts";
import { checkCount, type KeyLimits, type Limits, LimitsUnavailable } from "./limits.ts";
import { memoryLimits } from "./memory.ts";

interface LocalOptions {
  shared: Limits;
  clock: Clock;
  /** The number of running gateways, including this one. */
  gateways: () => number;
}

export function localWhenAway({ shared, clock, gateways }: LocalOptions): Limits {
  const local = memoryLimits({ clock });
  /** At least one, because otherwise a limit lower than the number of gateways would refuse everything. A limit of zero stays zero. */
  const share = (limit: number): number => {
    checkCount("limit", limit);
    return limit === 0 ? 0 : Math.max(1, Math.floor(limit / Math.max(1, gateways())));
  };
  const shareOf = ({ requestsPerMinute, tokensPerMinute, inFlight }: KeyLimits): KeyLimits => ({
    requestsPerMinute: share(requestsPerMinute),
    tokensPerMinute: share(tokensPerMinute),
    inFlight: share(inFlight),
  });

  return {
    health: shared.health,
    enter: (keyId, id, limits) =>
      orElse(shared.enter(keyId, id, limits), () => local.enter(keyId, id, shareOf(limits))),
    standing: (keyId, limits) => orElse(shared.standing(keyId, limits), () => local.standing(keyId, shareOf(limits))),
    enterModel: (model, id, ceiling, account) =>
      orElse(shared.enterModel(model, id, ceiling, account), () =>
        local.enterModel(model, id, share(ceiling), account),
      ),
    // Leaving has no effect in the place where the request was not entered.
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
