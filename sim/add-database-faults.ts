/**
 * Draws database faults other than outages: the database crashes, fails over, answers late, refuses connections, or
 * commits for a gateway that dies before the answer. They come from a separate random stream. Only worlds with other
 * faults get them, because worlds without faults are checked by stricter rules.
 */

import type { SeededRandom } from "@tollgate/stage/seeded-random.ts";
import { makePlainRequest } from "./add-rare-combinations.ts";
import { CRASH_AFTER_COMMIT_SQL_KINDS, type Plan, type PlanItem } from "./world-plan.ts";

/** The number of requests sent around the moment of a fault, so that the fault can affect one of them. */
const ASKS = 4;
const RICH = "5000000000000";

export function addDatabaseFaults(chance: SeededRandom, plan: Plan): void {
  const has = (pattern: RegExp): boolean => plan.items.some(({ do: what }) => pattern.test(what));
  if (has(/^crash gateway/) && chance.oneIn(2)) plan.items.push(crashAtCommit(chance, plan));
  if (!has(/^store/)) return;
  const faults = chance.between(0, 3);
  for (let i = 0; i < faults; i++) {
    const fault = drawDatabaseFault(chance, plan);
    plan.items.push(fault, ...asksAround(chance, plan, fault));
  }
}

function asksAround(chance: SeededRandom, { accounts, gateways }: Plan, { atMs, ...fault }: PlanItem): PlanItem[] {
  const hangMs = "hangMs" in fault ? fault.hangMs : 100;
  return Array.from({ length: ASKS }, (): PlanItem => {
    const [account, gateway] = [chance.below(accounts.length), chance.below(gateways.length)];
    const ask = makePlainRequest({ account, gateway, lastsMs: chance.between(100, 2_000), stream: chance.oneIn(2) });
    return { atMs: Math.max(0, atMs + chance.between(-10, hangMs)), do: "ask", ask };
  });
}

/**
 * Draws a failover during which each gateway waits for a hold that the standby has or not. A request just before makes
 * the gateway cache the key and the credit; otherwise requests would wait for those instead. The failover comes before
 * most other faults, because an outage would hide it, and a gateway that crashes loses its wait.
 */
export function addFailoverDuringHolds(chance: SeededRandom, plan: Plan): void {
  if (!plan.items.some(({ do: what }) => what.startsWith("store")) || !chance.oneIn(6)) return;
  const account = chance.below(plan.accounts.length);
  const unlimited = { inFlight: null, requestsPerMinute: null, tokensPerMinute: null, budgetDay: null };
  Object.assign(plan.accounts[account] as object, { credit: RICH, ...unlimited });
  const atMs = chance.between(500, 1_500);
  plan.items.push({ atMs, do: "store fails over", hangMs: chance.pick([100, 300]), forMs: chance.pick([10, 1_000]) });
  for (const gateway of plan.gateways.keys()) {
    const ask = makePlainRequest({ account, gateway, lastsMs: 100, stream: chance.oneIn(2) });
    const [beforeMs, duringMs] = [chance.between(100, 400), chance.between(1, 50)];
    plan.items.push({ atMs: atMs - beforeMs, do: "ask", ask }, { atMs: atMs + duringMs, do: "ask", ask });
  }
}

export function drawDatabaseFault(chance: SeededRandom, plan: Plan): PlanItem {
  const atMs = chance.below(plan.endMs);
  switch (chance.below(5)) {
    case 0:
      return { atMs, do: "store crashes", forMs: chance.pick([200, 3_000, 15_000]) };
    case 1: {
      const [hangMs, forMs] = [chance.pick([100, 300, 1_000, 8_000]), chance.pick([10, 1_000, 6_000])];
      return { atMs, do: "store fails over", hangMs, forMs };
    }
    case 2:
      return { atMs, do: "store answers late", delayMsMax: chance.pick([500, 2_900]), forMs: 20_000 };
    case 3:
      return { atMs, do: "store refuses", percent: chance.pick([5, 40, 100]), forMs: chance.pick([1_000, 15_000]) };
    default:
      return crashAtCommit(chance, plan);
  }
}

function crashAtCommit(chance: SeededRandom, { endMs, gateways }: Plan): PlanItem {
  return {
    atMs: chance.below(endMs),
    do: "crash at commit",
    gateway: chance.below(gateways.length),
    of: chance.pick(["ledger_hold", "ledger_settle", ...CRASH_AFTER_COMMIT_SQL_KINDS]),
    downMs: chance.pick([10, 5_000, 90_000]),
    powerLoss: chance.oneIn(2),
  };
}
