/**
 * Draws the actions with money other than requests: people buy credit, ask for refunds, own hosts and receive payouts.
 */

import type { SeededRandom } from "@tollgate/stage/seeded-random.ts";
import { makePlainRequest } from "./add-rare-combinations.ts";
import type { Plan, PlanItem } from "./world-plan.ts";

export function addMoneyActions(chance: SeededRandom, plan: Plan): void {
  const { endMs, accounts, hosts, items } = plan;
  plan.payoutHoldDays = chance.oneIn(4) ? 7 : 0;
  plan.hostOwners = Array.from({ length: hosts }, () => (chance.oneIn(2) ? chance.below(accounts.length) : null));
  if (!chance.oneIn(3)) return;
  const purchases = chance.between(1, 3);
  for (let i = 0; i < purchases; i++) items.push(purchase(chance, plan));
  const debtor = plan.hostOwners.find((owner) => owner !== null) ?? null;
  if (debtor !== null && chance.oneIn(2)) items.push(...debt(chance, plan, debtor));
  const batches = chance.between(1, 3);
  for (let i = 0; i < batches; i++) {
    const atMs = chance.between(Math.floor(endMs / 2), endMs);
    items.push({ atMs, do: "payout batch", minimum: chance.pick(["0", "1000000"]) });
  }
}

function purchase(chance: SeededRandom, { endMs, accounts }: Plan): PlanItem {
  return {
    atMs: chance.below(Math.ceil(endMs / 2)),
    do: "payment",
    account: chance.below(accounts.length),
    cents: chance.between(1, 3),
    seen: chance.oneIn(8) ? "expired" : "paid",
    refund: chance.pick([null, "succeeded", "failed"] as const),
    dispute: chance.pick([null, null, "won", "lost"] as const),
    stepMs: chance.pick([200, 3_000, Math.floor(endMs / 6)]),
  };
}

/**
 * Draws an owner in debt: an owner without money buys credit, spends some of it, has the purchase reversed, and
 * meanwhile earns as a host.
 */
function debt(chance: SeededRandom, { endMs, accounts, gateways }: Plan, account: number): PlanItem[] {
  Object.assign(accounts[account] as object, { credit: "0", budgetDay: null, tokensPerMinute: null });
  const asks = Array.from({ length: 6 }, (): PlanItem => {
    const atMs = chance.between(Math.floor(endMs / 4), Math.floor(endMs / 2));
    const gateway = chance.below(gateways.length);
    return { atMs, do: "ask", ask: makePlainRequest({ account, gateway, lastsMs: 500, stream: chance.oneIn(2) }) };
  });
  const [refund, dispute] = chance.oneIn(2) ? (["succeeded", null] as const) : ([null, "lost"] as const);
  return [
    { atMs: 0, do: "payment", account, cents: 1, seen: "paid", refund, dispute, stepMs: Math.floor(endMs / 2) },
    ...asks,
    { atMs: endMs - 1, do: "payout batch", minimum: "0" },
  ];
}
