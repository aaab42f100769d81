/** All attacks, in the order of the table: known attacks first, then new ones. */

import { EXCESSIVE_USE } from "./strategies/excessive-use.ts";
import { FALSE_CLAIMS } from "./strategies/false-claims.ts";
import { HARMFUL_REQUESTS } from "./strategies/harmful-requests.ts";
import { MONEY_WITHDRAWALS } from "./strategies/money-withdrawals.ts";
import { UNCOMPUTED_ANSWERS } from "./strategies/uncomputed-answers.ts";
import { UNFINISHED_ANSWERS } from "./strategies/unfinished-answers.ts";
import type { Strategy } from "./strategy.ts";

const NEW = Number.POSITIVE_INFINITY;

export const STRATEGIES: Strategy[] = [
  UNCOMPUTED_ANSWERS,
  UNFINISHED_ANSWERS,
  FALSE_CLAIMS,
  MONEY_WITHDRAWALS,
  HARMFUL_REQUESTS,
  EXCESSIVE_USE,
]
  .flat()
  .toSorted((a, b) => (a.known ?? NEW) - (b.known ?? NEW) || 0);

/** Finds an attack by its name, or by a part of its name that no other attack has. */
export function findStrategy(name: string): Strategy {
  const found = STRATEGIES.find((strategy) => strategy.name === name);
  if (found === undefined) throw new Error(`no strategy is called "${name}"; --list names them`);
  return found;
}
