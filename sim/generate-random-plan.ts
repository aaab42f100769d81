/**
 * Draws the plan of a simulated world from a seed, which decides everything in it. This file draws the general part;
 * `add-rare-combinations.ts` and `add-money-actions.ts` add theirs.
 */

import { SeededRandom } from "@tollgate/stage/seeded-random.ts";
import { addDatabaseFaults, addFailoverDuringHolds, drawDatabaseFault } from "./add-database-faults.ts";
import { addMoneyActions } from "./add-money-actions.ts";
import { addRareCombinations } from "./add-rare-combinations.ts";
import {
  type AccountPlan,
  NODE_KINDS,
  type NodePlan,
  type Plan,
  type PlanItem,
  type RequestPlan,
} from "./world-plan.ts";

export interface PlanOptions {
  minutes: number;
  /** The number of faults. Undefined: the seed decides. */
  faults?: number | undefined;
  gateways?: number | undefined;
  nodes?: number | undefined;
  /** Many short faults one after the other instead of a few, for runs over hours. */
  isDense?: boolean;
}

/** The number of faults in a virtual minute of a plan with dense faults. */
const DENSE_PER_MINUTE = 240;

const EMBEDDING = "embed-m3";
const MODELS = ["tiny-3b", "small-8b", "reason-32b", EMBEDDING];
/** The models that requests use. Models for plain text are listed twice, so that they are used most. */
const ASKED_MODELS = ["tiny-3b", "small-8b", ...MODELS];
/**
 * Stop strings that occur at once, occur later, span the point where the word list begins again, or never occur (only
 * their beginnings do).
 */
const STOPS = [" river", " engine", " paper river", " engine silver"];

const THREE_HOURS_MS = 3 * 3_600_000;

export function generateRandomPlan(seed: number, options: PlanOptions): Plan {
  const chance = new SeededRandom(`plan ${seed}`);
  const endMs = Math.round(options.minutes * 60_000);
  const gateways = options.gateways ?? chance.between(1, 3);
  const nodes = options.nodes ?? chance.between(2, 6);
  const hosts = chance.between(2, Math.max(2, nodes));
  const accounts = chance.pick([1, 2, 4, 12]);
  const { isDense = false } = options;
  const faults =
    options.faults ?? (isDense ? Math.ceil(options.minutes * DENSE_PER_MINUTE) : chance.pick([0, 3, 6, 12]));
  // In a calm world every node is honest, so every failure would be a fault of the platform.
  const isCalm = faults === 0 && chance.oneIn(2);
  const plan: Plan = {
    seed,
    endMs,
    gateways: Array.from({ length: gateways }, () => ({
      skewMs: chance.pick([0, 0, -300, 700, 4_000, -THREE_HOURS_MS, THREE_HOURS_MS]),
    })),
    limitsWhenAway: chance.oneIn(2) ? "local" : "refuse",
    hosts,
    nodes: Array.from({ length: nodes }, (_, i) => nodePlan(chance, { hosts, isHonest: i < 2 || isCalm })),
    accounts: Array.from({ length: accounts }, () => accountPlan(chance)),
    items: [],
    livesOn: chance.oneIn(8) && !isDense,
  };
  const asks = Math.ceil((endMs / 1000) * chance.pick([0.5, 1, 2, 4]));
  for (let i = 0; i < asks; i++)
    plan.items.push({ atMs: chance.below(endMs), do: "ask", ask: askPlan(chance, { gateways, accounts, isCalm }) });
  for (let i = 0; i < faults; i++)
    plan.items.push(isDense ? briefly(chance, denseFault(chance, plan)) : faultPlan(chance, plan));
  // Adds an outage of the database in which a gateway dies: only that gateway's disk has the settlements of requests
  // that it answered during the outage.
  if (faults > 0 && chance.oneIn(2)) plan.items.push(...doubleFault(chance, plan));
  if (faults > 0 && chance.oneIn(3)) plan.items.push(...plainCuts(chance, plan));
  const operations = chance.between(0, 6);
  for (let i = 0; i < operations; i++) plan.items.push(operationPlan(chance, plan));
  addMoneyActions(new SeededRandom(`people ${seed}`), plan);
  addCompletions(new SeededRandom(`completions ${seed}`), plan);
  if (!isCalm) addRareCombinations(new SeededRandom(`scenes ${seed}`), plan);
  if (!isDense) addDatabaseFaults(new SeededRandom(`store ${seed}`), plan);
  if (!isDense) addFailoverDuringHolds(new SeededRandom(`failover ${seed}`), plan);
  plan.items.sort((a, b) => a.atMs - b.atMs);
  return plan;
}

/** Sends some of the text requests to the older endpoint, /v1/completions. */
function addCompletions(chance: SeededRandom, { items }: Plan): void {
  for (const item of items)
    if (item.do === "ask" && chance.oneIn(6) && item.ask.model !== EMBEDDING) item.ask.endpoint = "completion";
}

function nodePlan(chance: SeededRandom, { hosts, isHonest }: { hosts: number; isHonest: boolean }): NodePlan {
  return {
    kind: isHonest || chance.oneIn(3) ? "honest" : chance.pick(NODE_KINDS),
    host: chance.below(hosts),
    slots: chance.between(1, 4),
    models: chance.oneIn(4) ? [chance.pick(MODELS)] : MODELS,
    formats: !chance.oneIn(3),
  };
}

function accountPlan(chance: SeededRandom): AccountPlan {
  const isPoor = chance.oneIn(4);
  // A token costs about 40,000 picodollars, so a poor account can pay for a few requests.
  const credit = isPoor ? BigInt(chance.between(0, 60)) * 1_000_000n : 5_000_000_000_000n;
  return {
    credit: String(credit),
    inFlight: chance.oneIn(4) ? chance.between(1, 4) : null,
    requestsPerMinute: chance.oneIn(6) ? chance.between(3, 20) : null,
    tokensPerMinute: chance.oneIn(6) ? chance.between(50, 2_000) : null,
    budgetDay: chance.oneIn(6) ? String(BigInt(chance.between(1, 60)) * 1_000_000n) : null,
  };
}

function askPlan(
  chance: SeededRandom,
  { gateways, accounts, isCalm }: { gateways: number; accounts: number; isCalm: boolean },
): RequestPlan {
  const words = chance.pick([0, 1, 5, 20, 60, 200]);
  const everyMs = chance.pick([15, 20, 50, 200, 200, 600]);
  const mayFail = !isCalm && chance.oneIn(5);
  return {
    account: chance.below(accounts),
    gateway: chance.below(gateways),
    model: chance.pick(ASKED_MODELS),
    stream: chance.oneIn(2),
    promptWords: chance.pick([1, 3, 30]),
    maxTokens: chance.pick([1, 16, 64, 256]),
    stop: !isCalm && chance.oneIn(5) ? chance.pick(STOPS) : null,
    formatted: chance.oneIn(12),
    texts: chance.pick([1, 2, 7]),
    leavesMs: !isCalm && chance.oneIn(8) ? chance.between(1, 6_000) : null,
    script: {
      words: isCalm ? Math.max(1, words) : words,
      thinkWords: chance.pick([0, 1, 12, 40]),
      perDelta: chance.between(1, 6),
      ttftMs: chance.pick([0, 50, 400, 1_500]),
      everyMs,
      fault: mayFail
        ? {
            kind: chance.pick(["fail", "stall", "drop", "prompt"] as const),
            attempt: chance.between(0, 2),
            after: chance.pick([0, 1, 7]),
          }
        : null,
    },
  };
}

function faultPlan(chance: SeededRandom, { endMs, gateways, nodes }: Plan): PlanItem {
  const atMs = chance.below(endMs);
  const gateway = chance.below(gateways.length);
  const node = chance.below(nodes.length);
  const downMs = chance.pick([10, 1_000, 5_000, 20_000, 90_000]);
  switch (chance.below(12)) {
    case 0:
    case 1:
      return {
        atMs,
        do: "crash gateway",
        gateway,
        fuse: chance.pick([0, 3, 20, 200]),
        downMs,
        powerLoss: chance.oneIn(2),
      };
    case 2:
      return { atMs, do: "drain gateway", gateway, graceMs: chance.pick([0, 2_000, 10_000]), downMs };
    case 3:
      return { atMs, do: "crash node", node, downMs };
    case 4:
      return {
        atMs,
        do: "cut node",
        node,
        downMs: chance.pick([10, 1_000, 5_000]),
        how: chance.pick(["plane", "moved"] as const),
      };
    case 5:
      return { atMs, do: "cut gateway", gateway, downMs: chance.pick([10, 1_000, 5_000, 20_000]) };
    case 6:
      return { atMs, do: "slow plane", delayMsMax: chance.pick([30, 90]), forMs: 20_000 };
    case 7:
    case 8:
      return { atMs, do: "store away", forMs: chance.pick([200, 3_000, 15_000, 120_000]) };
    case 9:
      return chance.oneIn(2)
        ? { atMs, do: "store loses", percent: chance.pick([5, 30]), forMs: 20_000 }
        : { atMs, do: "store slow", delayMsMax: chance.pick([200, 1_500]), forMs: 20_000 };
    case 10:
      return {
        atMs,
        do: "limits away",
        how: chance.pick(["hangs", "dies"] as const),
        forMs: chance.pick([200, 3_000, 15_000, 90_000]),
      };
    default:
      return { atMs, do: "disk full", gateway, forMs: chance.pick([1_000, 30_000]) };
  }
}

const denseFault = (chance: SeededRandom, plan: Plan): PlanItem =>
  chance.oneIn(5) ? drawDatabaseFault(chance, plan) : faultPlan(chance, plan);

/** Shortens most faults, so that the next fault finds something that it can strike. */
function briefly(chance: SeededRandom, item: PlanItem): PlanItem {
  if (chance.oneIn(40)) return item;
  const ms = chance.pick([10, 100, 400, 1_000, 2_500]);
  return { ...item, ...("downMs" in item && { downMs: ms }), ...("forMs" in item && { forMs: ms }) };
}

function doubleFault(chance: SeededRandom, { endMs, gateways }: Plan): PlanItem[] {
  const atMs = chance.below(Math.max(1, endMs - 20_000));
  const forMs = chance.pick([15_000, 90_000]);
  const crashMs = atMs + chance.between(3_000, 12_000);
  const gateway = chance.below(gateways.length);
  const fuse = chance.pick([0, 3, 20]);
  const downMs = chance.pick([10, 5_000, 100_000]);
  return [
    { atMs, do: "store away", forMs },
    { atMs: crashMs, do: "crash gateway", gateway, fuse, downMs, powerLoss: chance.oneIn(2) },
  ];
}

/** Draws cuts at which the plane loses nodes that run jobs, and notices the loss. Gateways must not blame the nodes. */
function plainCuts(chance: SeededRandom, { endMs, nodes }: Plan): PlanItem[] {
  return Array.from({ length: 3 }, () => {
    const cut = { node: chance.below(nodes.length), downMs: chance.pick([10, 1_000]), how: "plane" as const };
    return { atMs: chance.below(endMs), do: "cut node" as const, ...cut };
  });
}

function operationPlan(chance: SeededRandom, { endMs, accounts, nodes }: Plan): PlanItem {
  const atMs = chance.below(endMs);
  const account = chance.below(accounts.length);
  const amount = String(BigInt(chance.between(1, 50)) * 1_000_000n);
  switch (chance.below(6)) {
    case 0:
      return { atMs, do: "transfer", account, kind: chance.pick(["grant", "purchase"] as const), amount };
    case 1:
      return { atMs, do: "transfer", account, kind: chance.pick(["refund", "dispute"] as const), amount };
    case 2:
      return { atMs, do: "payout batch", minimum: String(BigInt(chance.below(100)) * 10_000n) };
    case 3:
      // A world with one account does not revoke its key, because no more requests would be sent.
      return accounts.length > 1 ? { atMs, do: "revoke key", account } : { atMs, do: "reload catalogue" };
    case 4:
      return { atMs, do: "reload catalogue" };
    default:
      return { atMs, do: "quarantine node", node: chance.below(nodes.length), forMs: chance.between(1_000, 30_000) };
  }
}
