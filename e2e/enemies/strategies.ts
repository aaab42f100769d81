/** All attacks, in the order of the table: known attacks first, then new ones. */
import { answering } from "./strategies/answering.ts";
import { asking } from "./strategies/asking.ts";
import { breaking } from "./strategies/breaking.ts";
import { claiming } from "./strategies/claiming.ts";
import { crowding } from "./strategies/crowding.ts";
import { money } from "./strategies/money.ts";
import type { Strategy } from "./strategy.ts";

const NEW = Number.POSITIVE_INFINITY;

export const STRATEGIES: Strategy[] = [answering, breaking, claiming, money, asking, crowding]
  .flat()
  .toSorted((a, b) => (a.known ?? NEW) - (b.known ?? NEW) || 0);

/** Finds an attack by its name, or by a part of its name that no other attack has. */
export function strategyOf(name: string): Strategy {
  const found = STRATEGIES.find((strategy) => strategy.name === name);
  if (found === undefined) throw new Error(`no strategy is called "${name}"; --list names them`);
  return found;
}
