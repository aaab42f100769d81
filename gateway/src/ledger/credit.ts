/**
 * Whether an account has any credit at all, from a balance that is at most a second old: asked before a request's body is
 * read, so that an account at zero costs no more than this. Every hold tells it as well, so a busy account costs no query.
 * It refuses early and promises nothing: the hold decides.
 */
import type { Clock } from "../base/clock.ts";
import type { Uuid } from "../base/ids.ts";

const FRESH_MS = 1_000;
const REMEMBERED_MAX = 50_000;

interface Credit {
  /** A balance above zero, as of a second ago at most. Those who ask at once share one look. */
  has(accountId: Uuid): boolean | Promise<boolean>;
  /** What an operation that was begun at `asOf` (monotonic) found. */
  learned(accountId: Uuid, has: boolean, asOf: number): void;
  /** The balance was changed here: look again. */
  forget(accountId: Uuid): void;
}

export function openCredit(options: {
  clock: Clock;
  look: (accountId: Uuid) => Promise<boolean>;
  rememberedMax?: number;
}): Credit {
  const { clock, look, rememberedMax = REMEMBERED_MAX } = options;
  const known = new Map<Uuid, { has: boolean; asOf: number }>();
  const looking = new Map<Uuid, { answer: Promise<boolean>; asOf: number }>();

  const learned: Credit["learned"] = (accountId, has, asOf) => {
    const before = known.get(accountId);
    if (before !== undefined && before.asOf > asOf) return;
    // The one that was learned of longest ago stands first, and is the first to go.
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
            // Forgotten meanwhile: the answer may be older than what was changed.
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
