/**
 * Counts the messages on the dispatch plane of a simulated platform under a steady load, by kind of message and by the
 * number of gateways and nodes. Shows how each kind grows with the platform. The gateways run the product's code; nodes
 * report as agents do.
 *
 * npm run sim -- --traffic
 */

import { makePlainRequest } from "./add-rare-combinations.ts";
import { generateRandomPlan } from "./generate-random-plan.ts";
import { simulateWorld } from "./simulate.ts";
import type { TokenCounting } from "./token-counting.ts";
import type { Plan, PlanItem } from "./world-plan.ts";

/** The kinds of messages, by the second part of their subject. */
const KINDS = {
  n: "gateway to node",
  g: "node to gateway",
  s: "node to all gateways",
  p: "gateway to all gateways",
} as const;
type Kind = (typeof KINDS)[keyof typeof KINDS];

export interface TrafficScenario {
  gateways: number;
  nodes: number;
  requestsPerSecond: number;
}

/** The number of messages and bytes per second, by kind. */
export type PlaneTraffic = Record<Kind, { published: number; delivered: number; bytesDelivered: number }>;

const SLOTS = 8;
const LASTS_MS = 2_000;
/** The start of the measurement in seconds: by then all participants have found each other and the load is steady. */
const FROM_S = 10;
const OVER_S = 20;
const LEAD_S = 3;
const CREDIT = "5000000000000000";
const NO_LIMITS = { inFlight: 10_000, requestsPerMinute: 1_000_000, tokensPerMinute: 1_000_000_000 };

export async function countPlaneTraffic(platform: TrafficScenario, tokens: TokenCounting): Promise<PlaneTraffic> {
  const counts: Map<string, number[]>[] = [];
  const { violation, outcomes } = await simulateWorld(planOf(platform), tokens, {
    begun({ scheduler, network }) {
      const look = (): void => {
        counts.push(new Map([...network.traffic].map(([kind, of]) => [kind, Object.values(of)])));
      };
      for (const atS of [FROM_S, FROM_S + OVER_S]) scheduler.after((LEAD_S + atS) * 1000, look);
    },
  });
  if (violation !== undefined) throw new Error(`${violation.rule}: ${violation.message}`);
  const wrong = Object.keys(outcomes).filter((outcome) => outcome !== "ok" && outcome !== "client: answered");
  if (wrong.length > 0) throw new Error(`not every request was answered: ${wrong.join(", ")}`);
  const [before, after] = counts as [Map<string, number[]>, Map<string, number[]>];
  const perSecond = (kind: string, nth: number): number =>
    ((after.get(kind)?.[nth] ?? 0) - (before.get(kind)?.[nth] ?? 0)) / OVER_S;
  return Object.fromEntries(
    Object.entries(KINDS).map(([kind, name]) => [
      name,
      { published: perSecond(kind, 0), delivered: perSecond(kind, 1), bytesDelivered: perSecond(kind, 2) },
    ]),
  ) as PlaneTraffic;
}

function planOf({ gateways, nodes, requestsPerSecond }: TrafficScenario): Plan {
  const plan = generateRandomPlan(1, { minutes: 1, faults: 0, gateways, nodes });
  for (const node of plan.nodes) Object.assign(node, { kind: "honest", slots: SLOTS, models: ["tiny-3b"] });
  plan.accounts = [{ credit: CREDIT, ...NO_LIMITS, budgetDay: null }];
  const asks = Array.from({ length: requestsPerSecond * (FROM_S + OVER_S) }, (_, nth): PlanItem => {
    const ask = makePlainRequest({ account: 0, gateway: nth % gateways, stream: true, lastsMs: LASTS_MS });
    return { atMs: Math.round((nth * 1000) / requestsPerSecond), do: "ask", ask };
  });
  return { ...plan, items: asks, livesOn: false };
}

const ROWS: TrafficScenario[] = [
  { gateways: 1, nodes: 8, requestsPerSecond: 8 },
  { gateways: 2, nodes: 8, requestsPerSecond: 8 },
  { gateways: 4, nodes: 8, requestsPerSecond: 8 },
  { gateways: 8, nodes: 8, requestsPerSecond: 8 },
  { gateways: 4, nodes: 16, requestsPerSecond: 16 },
  { gateways: 4, nodes: 32, requestsPerSecond: 32 },
  { gateways: 8, nodes: 32, requestsPerSecond: 32 },
];

/** Returns the traffic table of docs/scale.md. */
export async function formatTrafficTable(tokens: TokenCounting): Promise<string> {
  const names = Object.values(KINDS);
  const lines = [
    `| gateways | nodes | requests a second | ${names.join(" | ")} |`,
    `${"|---".repeat(3 + names.length)}|`,
  ];
  for (const row of ROWS) {
    const traffic = await countPlaneTraffic(row, tokens);
    const cells = names.map((name) => traffic[name].delivered.toFixed(0));
    lines.push(`| ${[row.gateways, row.nodes, row.requestsPerSecond, ...cells].join(" | ")} |`);
  }
  return lines.join("\n");
}
