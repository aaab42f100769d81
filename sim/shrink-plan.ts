/**
 * Searches for the shortest plan that breaks the same rule. Removes items, first in halves, then one by one, then
 * gateways, nodes and accounts that no item needs. A shorter plan that still breaks the rule replaces the longer one.
 */

import type { WorldOutcome } from "./simulate.ts";
import type { Plan, PlanItem } from "./world-plan.ts";

/** The maximum number of attempts; each one runs a whole world. */
const TRIES_MAX = 300;

export async function shrinkPlan(
  plan: Plan,
  failed: WorldOutcome,
  run: (plan: Plan) => Promise<WorldOutcome>,
): Promise<Plan> {
  let tries = 0;
  let best = plan;
  const stillFails = async (candidate: Plan): Promise<boolean> => {
    if (tries >= TRIES_MAX) return false;
    tries += 1;
    const { violation } = await run(candidate);
    return violation?.rule === failed.violation?.rule;
  };
  for (let size = Math.ceil(best.items.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < best.items.length; ) {
      const items: PlanItem[] = best.items.toSpliced(from, size);
      const candidate = { ...best, items };
      if (await stillFails(candidate)) best = candidate;
      else from += size;
    }
  }
  for (const name of ["nodes", "gateways", "accounts"] as const) {
    while (best[name].length > 1) {
      const candidate = { ...best, [name]: best[name].slice(0, -1) };
      const isUsed = best.items.some((item) => usedBy(item, name) >= candidate[name].length);
      if (isUsed || !(await stillFails(candidate))) break;
      best = candidate;
    }
  }
  return best;
}

/** Returns the highest index of a node, gateway or account that the item needs; -1 if it needs none. */
function usedBy(item: PlanItem, name: "nodes" | "gateways" | "accounts"): number {
  if (name === "nodes") return "node" in item ? item.node : -1;
  const of = item.do === "ask" ? item.ask : item;
  if (name === "gateways") return "gateway" in of ? of.gateway : -1;
  return "account" in of ? of.account : -1;
}
