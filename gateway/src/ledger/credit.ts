/**
 * Checks whether an account has any credit before the request's body is read, so that requests of an account without
 * credit cost little. The check uses a result that is at most one second old. Every hold updates the cached result, so
 * a busy account needs no query. The hold itself makes the final decision.
 */
import type { Clock } from "../base/clock.ts";
import type { Uuid } from "../base/ids.ts";

const FRESH_MS = 1_000;
const REMEMBERED_MAX = 50_000;

interface CreditCache {
  /** Whether the balance was above zero at some moment of the last second. Concurrent callers share one query. */
  has(accountId: Uuid): boolean | Promise<boolean>;
  /**
   * Caches whether the account has credit. `asOf`: when the operation that found this began (monotonic, ms). A result
   * older than the cached one is ignored.
   */
  learned(accountId: Uuid, has: boolean, asOf: number): void;
  /** Discards the cached result, because this gateway has changed the balance. */
  forget(accountId: Uuid): void;
}

export function openCreditCache(options: {
  clock: Clock;
  look: (accountId: Uuid) => Promise<boolean>;
  rememberedMax?: number;
}): CreditCache {
  const { clock, look, rememberedMax = REMEMBERED_MAX } = options;
  const known = new Map<Uuid, { has: boolean; asOf: number }>();
  const looking = new Map<Uuid, { answer: Promise<boolean>; asOf: number }>();

  const learned: CreditCache["learned"] = (accountId, has, asOf) => {
    const before = known.get(accountId);
    if (before !== undefined && before.asOf > asOf) return;
    // Moves the account to the end. The first account is the one updated longest ago and is removed first.
    known.delete(accountId);
    known.set(accountId, { has, asOf });
    if (known.size > rememberedMax) known.delete(known.keys().next().value as Uuid);
  };

  return {
    has(accountId) {
      const now = clock.monotonic();
      const found = known.get(accountId);
      if (found !== undefined && now - found.asOf < FRESH_MS) return found.has;
      const under = looking.get(accountId);
      if (under !== undefined && now - under.asOf < FRESH_MS) return under.answer;
      const one = {
        asOf: now,
        answer: look(accountId)
          .then((has) => {
            // Caches the result only if this query is still the account's latest. `forget` drops the query when the
            // balance changes, because the result may be older than the change.
            if (looking.get(accountId) === one) learned(accountId, has, now);
            return has;
          })
          .finally(() => {
            if (looking.get(accountId) === one) looking.delete(accountId);
          }),
      };
      looking.set(accountId, one);
      return one.answer;
    },
    learned,
    forget(accountId) {
      known.delete(accountId);
      looking.delete(accountId);
    },
  };
}
