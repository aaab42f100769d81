/**
 * For operators who would rather serve than refuse while the shared server is unreachable (`LIMITS_WHEN_AWAY=local`): this gateway
 * counts alone then, in memory, with its share of every limit, so that all gateways together stay within them as long as
 * requests are spread evenly. What a client reads in its headers is that share: it is what it can count on here.
 *
 * The counts of the two places never meet. A minute in which the server goes or comes back begins anew in the other place,
 * and what was entered in one is left there.
 */
import type { Clock } from "../base/clock.ts";
import { checkCount, type KeyLimits, type Limits, LimitsUnavailable } from "./limits.ts";
import { memoryLimits } from "./memory.ts";

interface LocalOptions {
  shared: Limits;
  clock: Clock;
  /** How many gateways live now, this one among them. */
  gateways: () => number;
}

export function localWhenAway({ shared, clock, gateways }: LocalOptions): Limits {
  const local = memoryLimits({ clock });
  /** At least one, or a platform with more gateways than a limit counts would serve no one; nothing of nothing. */
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
    // Each place does nothing for what was not entered there.
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
