/** All attacks, in the order of the report's table: known attacks by their number, then new ones. */

import type { AttackStrategy } from "./attack-strategy.ts";
import { EXCESSIVE_USE_ATTACKS } from "./strategies/excessive-use.ts";
import { FALSE_CLAIM_ATTACKS } from "./strategies/false-claims.ts";
import { HARMFUL_REQUEST_ATTACKS } from "./strategies/harmful-requests.ts";
import { MONEY_WITHDRAWAL_ATTACKS } from "./strategies/money-withdrawals.ts";
import { UNCOMPUTED_ANSWER_ATTACKS } from "./strategies/uncomputed-answers.ts";
import { UNFINISHED_ANSWER_ATTACKS } from "./strategies/unfinished-answers.ts";

const NEW = Number.POSITIVE_INFINITY;

export const STRATEGIES: AttackStrategy[] = [
  UNCOMPUTED_ANSWER_ATTACKS,
  UNFINISHED_ANSWER_ATTACKS,
  FALSE_CLAIM_ATTACKS,
  MONEY_WITHDRAWAL_ATTACKS,
  HARMFUL_REQUEST_ATTACKS,
  EXCESSIVE_USE_ATTACKS,
]
  .flat()
  .toSorted((a, b) => (a.known ?? NEW) - (b.known ?? NEW) || 0);

/** Finds an attack by its name, or by a part of its name that no other attack has. */
export function findStrategy(name: string): AttackStrategy {
  const found = STRATEGIES.find((strategy) => strategy.name === name);
  if (found === undefined) throw new Error(`no strategy is called "${name}"; --list names them`);
  return found;
}
