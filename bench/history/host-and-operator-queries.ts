/** The queries of the hosts' console, the operators' console and the status page on a long history. */
import type pg from "pg";
import { systemClock } from "../../gateway/src/base/clock.ts";
import { newIds, type Uuid } from "../../gateway/src/base/ids.ts";
import { systemRandom } from "../../gateway/src/base/random.ts";
import { NODE_RULES } from "../../gateway/src/fleet/node-standing-rules.ts";
import { openEarningsHistory } from "../../gateway/src/history/earnings.ts";
import { openModelAvailability } from "../../gateway/src/history/model-availability.ts";
import { createMarketReader } from "../../gateway/src/history/model-market.ts";
import { openNodeActivityReader } from "../../gateway/src/history/node-activity.ts";
import { createJobHistory } from "../../gateway/src/history/node-jobs.ts";
import { openNodePresence } from "../../gateway/src/history/node-presence.ts";
import { computeTimeSlots, openPerformanceReader } from "../../gateway/src/history/performance-reader.ts";
import { openAccountDirectory } from "../../gateway/src/operators/account-directory.ts";
import { openAudit } from "../../gateway/src/operators/audit.ts";
import { openNodesNeedingAttention } from "../../gateway/src/operators/nodes-needing-attention.ts";
import { openOverview } from "../../gateway/src/operators/overview.ts";
import { openPlatformSpend } from "../../gateway/src/operators/platform-spend.ts";
import { daysAgo, type HistoryQuery, PAGE_ROWS, type QueryContext, TIME_RANGES } from "./history-query.ts";
import { MODELS } from "./seed-requests.ts";

const SAMPLE_MS = 60_000;

export function hostQueries({ cast, far }: QueryContext): HistoryQuery[] {
  const host = cast.host as Uuid;
  const node = (i: number): Uuid => cast.nodes[i] as Uuid;
  type Lines = Parameters<ReturnType<typeof openEarningsHistory>["lines"]>[1];
  const pages: Record<string, Lines> = {
    "first page": { limit: PAGE_ROWS },
    "1,000th page": { limit: PAGE_ROWS, before: far.earning },
    "a common node": { limit: PAGE_ROWS, nodeId: node(0) },
    "a rare node": { limit: PAGE_ROWS, nodeId: node(2) },
    "a span of 3 days, 30 days ago": { limit: PAGE_ROWS, from: daysAgo(30), to: daysAgo(27) },
    "a rare node and a span": { limit: PAGE_ROWS, nodeId: node(2), from: daysAgo(50), to: daysAgo(10) },
  };
  const sums = { "of today": { from: daysAgo(1) }, "of a node": { nodeId: node(0) }, "of all time": {} };
  type Jobs = Parameters<ReturnType<typeof createJobHistory>["list"]>[1];
  const jobs: Record<string, Jobs> = {
    "first page": { limit: PAGE_ROWS },
    "a common model": { limit: PAGE_ROWS, model: MODELS[0] },
    "a rare model": { limit: PAGE_ROWS, model: MODELS.at(-1) },
    "an outcome": { limit: PAGE_ROWS, outcome: "upstream_failed" },
  };
  return [
    ...Object.entries(pages).map(([name, page]) => ({
      name: `earnings: ${name}`,
      isNewest: name === "first page",
      ask: async (pool: pg.Pool) => (await openEarningsHistory({ pool }).lines(host, page)).length,
    })),
    ...Object.entries(sums).map(([name, span]) => ({
      name: `earnings: sum ${name}`,
      ask: async (pool: pg.Pool) => (await openEarningsHistory({ pool }).sum(host, span)).requests,
    })),
    ...[31, 90].flatMap((days) =>
      (["day", "node", "model"] as const).map((by) => ({
        name: `earnings: ${days} days by ${by}`,
        ask: async (pool: pg.Pool) =>
          (await openEarningsHistory({ pool }).sums(host, { by, from: daysAgo(days), to: new Date() })).length,
      })),
    ),
    {
      name: "earnings: own of all time",
      ask: async (pool) => Number(await openEarningsHistory({ pool }).own(host)),
    },
    ...TIME_RANGES.flatMap((range) => [
      {
        name: `insight: a host's nodes, ${range}`,
        ask: (pool: pg.Pool) => insightOf(pool, host, cast.nodes as Uuid[], range),
      },
      {
        name: `insight: a node, ${range}`,
        ask: (pool: pg.Pool) => insightOf(pool, host, [node(0)], range),
      },
    ]),
    ...Object.entries(jobs).map(([name, page]) => ({
      name: `jobs of a node: ${name}`,
      isNewest: name === "first page",
      ask: async (pool: pg.Pool) => (await createJobHistory({ pool }).list(node(0), page)).length,
    })),
    {
      name: "market",
      ask: async (pool) =>
        (await createMarketReader({ pool, performance: openPerformanceReader({ pool }), now: Date.now }).models()).size,
    },
  ];
}

async function insightOf(
  pool: pg.Pool,
  host: Uuid,
  nodes: Uuid[],
  range: (typeof TIME_RANGES)[number],
): Promise<number> {
  const insights = openNodeActivityReader({
    pool,
    performance: openPerformanceReader({ pool }),
    presence: openNodePresence({ pool, everyMs: SAMPLE_MS }),
    earnings: openEarningsHistory({ pool }),
  });
  const now = Date.now();
  return (await insights.of(host, nodes, computeTimeSlots(range, now), now)).series.length;
}

export function operatorQueries(): HistoryQuery[] {
  type Search = Parameters<ReturnType<typeof openAudit>["list"]>[0];
  const acts: Record<string, Search> = {
    "first page": { limit: PAGE_ROWS },
    "an operator and an action": { limit: PAGE_ROWS, operator: "operator-3", action: "payout.paid" },
    "what was refused": { limit: PAGE_ROWS, outcome: "refused" },
    "nobody by that name": { limit: PAGE_ROWS, operator: "nobody" },
    "a span, 30 days ago": { limit: PAGE_ROWS, from: daysAgo(30), to: daysAgo(27) },
  };
  const newId = newIds(systemClock, systemRandom());
  return [
    { name: "platform: totals", ask: async (pool) => (await openOverview({ pool }).totals()).builders },
    ...[1, 31].map((days) => ({
      name: `platform: traffic of ${days} days`,
      ask: async (pool: pg.Pool) =>
        (await openOverview({ pool }).traffic({ from: daysAgo(days), to: new Date() })).length,
    })),
    ...TIME_RANGES.flatMap((range) => ofPlatform(range)),
    {
      name: "accounts: first page",
      ask: async (pool) => (await openAccountDirectory({ pool }).search({ limit: PAGE_ROWS })).length,
    },
    ...Object.entries(acts).map(([name, page]) => ({
      name: `audit: ${name}`,
      isNewest: name === "first page",
      ask: async (pool: pg.Pool) => (await openAudit({ pool, newId }).list(page)).length,
    })),
    ...TIME_RANGES.map((range) => ({
      name: `a model's page, ${range}`,
      ask: async (pool: pg.Pool) => {
        const asked = {
          scope: "platform",
          model: MODELS[0],
          percentilesOf: ["ttft"],
          ...computeTimeSlots(range, Date.now()),
        } as const;
        return (await openPerformanceReader({ pool }).each(asked, { total: [], performed: ["slot"] })).performed.length;
      },
    })),
    {
      name: "status, 90 days",
      ask: async (pool) => {
        const slots = computeTimeSlots("90d", Date.now());
        const asked = { scope: "platform", ...slots, percentilesOf: ["ttft"] } as const;
        const sums = await openPerformanceReader({ pool }).sums({ ...asked, by: ["slot", "model"] });
        const seen = await openModelAvailability({ pool, everyMs: SAMPLE_MS }).sums(slots);
        return sums.length + seen.length;
      },
    },
  ];
}

/** The queries of the operators' page whose result depends on its time range. */
function ofPlatform(range: (typeof TIME_RANGES)[number]): HistoryQuery[] {
  const span = computeTimeSlots(range, Date.now());
  return [
    {
      name: `platform: performance of ${range}`,
      ask: async (pool) => {
        const by = { total: [], slots: ["slot" as const], models: ["model" as const] };
        return (await openPerformanceReader({ pool }).each({ scope: "platform", ...span }, by)).slots.length;
      },
    },
    {
      name: `platform: presence of ${range}`,
      ask: async (pool) => (await openNodePresence({ pool, everyMs: SAMPLE_MS }).sums(span)).length,
    },
    {
      name: `platform: spend by model, ${range}`,
      ask: async (pool) => (await openPlatformSpend({ pool }).models(span)).length,
    },
    {
      name: `platform: accounts by spend, ${range}`,
      ask: async (pool) => (await openPlatformSpend({ pool }).accounts(span, 10)).length,
    },
    {
      name: `platform: nodes to look at, ${range}`,
      ask: async (pool) => {
        const attention = openNodesNeedingAttention({ pool, rules: NODE_RULES, version: "1.0.0" });
        return (await attention.nodes({ connected: [], span, limit: 20 })).total;
      },
    },
  ];
}
