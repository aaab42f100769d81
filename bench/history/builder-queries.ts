/**
 * The queries of a builder's console on a long history, run by the console's own code. `host-and-operator-queries.ts`
 * contains the queries of hosts and operators.
 */

import { USAGE_GROUPINGS } from "@tollgate/api/console/balance-and-usage.ts";
import type pg from "pg";
import type { Uuid } from "../../gateway/src/base/ids.ts";
import {
  computeTimeSlots,
  openPerformanceReader,
  type PerformanceRange,
} from "../../gateway/src/history/performance-reader.ts";
import type { RequestFilter } from "../../gateway/src/history/request-filter.ts";
import { openRequestHistory } from "../../gateway/src/history/request-history.ts";
import { openUsageHistory } from "../../gateway/src/history/usage-history.ts";
import { openAccountStatement } from "../../gateway/src/ledger/statement.ts";
import {
  type DeepPageCursor,
  daysAgo,
  type HistoryQuery,
  PAGE_ROWS,
  type QueryContext,
  TIME_RANGES,
} from "./history-query.ts";
import { hostQueries, operatorQueries } from "./host-and-operator-queries.ts";
import type { SeededAccounts } from "./seed-history.ts";
import { MODELS, RARE_OUTCOME } from "./seed-requests.ts";

const FAR = 999 * 50;

export async function findDeepPageCursor(pool: pg.Pool, { builder, host }: SeededAccounts): Promise<DeepPageCursor> {
  const at = async (owner: string, id: string): Promise<Uuid> => {
    const { rows } = await pool.query(
      `select id from (select id from request where ${owner} = $1 order by id desc limit $2) newest order by id limit 1`,
      [id, FAR],
    );
    return rows[0].id;
  };
  return { request: await at("account_id", builder), earning: await at("host_account_id", host) };
}

export const consoleQueries = (setting: QueryContext): HistoryQuery[] => [
  ...ofHistory(setting),
  ...ofTotals(setting),
  ...ofUsage(setting),
  ...ofPerformance(setting),
  ...ofStatement(setting),
  ...hostQueries(setting),
  ...operatorQueries(),
];

type History = ReturnType<typeof openRequestHistory>;
type Page = Parameters<History["list"]>[1];

function ofHistory({ cast, far }: QueryContext): HistoryQuery[] {
  const builder = cast.builder as Uuid;
  const key = (i: number): Uuid => cast.keys[i] as Uuid;
  const rareKey = {
    models: [MODELS[0] as string],
    keyIds: [key(4)],
    outcomes: ["ok" as const],
    from: daysAgo(50),
    to: daysAgo(10),
  };
  const filters: Record<string, Page> = {
    "first page": { limit: PAGE_ROWS },
    "1,000th page": { limit: PAGE_ROWS, before: far.request },
    "a common model": { limit: PAGE_ROWS, models: [MODELS[0] as string] },
    "a rare model": { limit: PAGE_ROWS, models: [MODELS.at(-1) as string] },
    "a common key": { limit: PAGE_ROWS, keyIds: [key(0)] },
    "a rare key": { limit: PAGE_ROWS, keyIds: [key(4)] },
    "a common outcome": { limit: PAGE_ROWS, outcomes: ["ok"] },
    "a rare outcome": { limit: PAGE_ROWS, outcomes: [RARE_OUTCOME] },
    "an outcome that never was": { limit: PAGE_ROWS, outcomes: ["rate_limit_sku_capacity"] },
    "a label": { limit: PAGE_ROWS, label: "team-7" },
    "a label, a common model": { limit: PAGE_ROWS, label: "team-7", models: [MODELS[0] as string] },
    "a label, a rare model": { limit: PAGE_ROWS, label: "team-7", models: [MODELS.at(-1) as string] },
    "a label, a rare key": { limit: PAGE_ROWS, label: "team-7", keyIds: [key(4)] },
    "a label, a rare outcome": { limit: PAGE_ROWS, label: "team-7", outcomes: [RARE_OUTCOME] },
    "a span of 3 days, 30 days ago": { limit: PAGE_ROWS, from: daysAgo(30), to: daysAgo(27) },
    "model, key and outcome": {
      limit: PAGE_ROWS,
      models: [MODELS[1] as string],
      keyIds: [key(1)],
      outcomes: ["upstream_failed"],
    },
    "model, rare key, outcome and span": { limit: PAGE_ROWS, ...rareKey },
    "a common model, 1,000th page": { limit: PAGE_ROWS, models: [MODELS[0] as string], before: far.request },
    "oldest first": { limit: PAGE_ROWS, oldestFirst: true },
    "oldest first, a common model": { limit: PAGE_ROWS, oldestFirst: true, models: [MODELS[0] as string] },
    "oldest first, a rare model": { limit: PAGE_ROWS, oldestFirst: true, models: [MODELS.at(-1) as string] },
    "a page of the CSV": { limit: 1000, before: far.request },
    "a page of the CSV, a rare key": { limit: 1000, keyIds: [key(4)] },
  };
  const listed = (whose: string, id: string, names: string[]): HistoryQuery[] =>
    names.map((name) => ({
      name: `${whose}: ${name}`,
      isExport: name.includes("CSV"),
      isNewest: name === "first page",
      ask: async (pool) => (await openRequestHistory({ pool }).list(id as Uuid, filters[name] as Page)).length,
    }));
  return [
    ...listed("history", builder, Object.keys(filters)),
    ...listed("history of a small builder", cast.smallBuilder, ["first page", "a rare model", "a rare key"]),
    ...searched(builder),
    largest("history: by cost, of all", { by: "cost", limit: PAGE_ROWS }),
    largest("history: by cost, of all that cost little", {
      by: "cost",
      measures: { cost: { max: 20_000_000n } },
      limit: PAGE_ROWS,
    }),
    ...(["cost", "tokens", "duration"] as const).flatMap((by) => [
      largest(`history: by ${by}, 2 hours`, { by, from: daysAgo(2 / 24), limit: PAGE_ROWS }),
      largest(`history: by ${by}, 6 hours`, { by, from: daysAgo(6 / 24), limit: PAGE_ROWS }),
      largest(`history: by ${by}, a day`, { by, from: daysAgo(1), limit: PAGE_ROWS }),
      largest(`history: by ${by}, 10 days of a label`, { by, from: daysAgo(10), label: "team-7", limit: PAGE_ROWS }),
      largest(`history: by ${by}, 31 days of a label`, { by, from: daysAgo(31), label: "team-7", limit: PAGE_ROWS }),
    ]),
    {
      name: "history: one by its id",
      ask: async (pool) => ((await openRequestHistory({ pool }).find(builder, far.request)) === undefined ? 0 : 1),
    },
  ];
  function largest(name: string, page: Parameters<History["largest"]>[1]): HistoryQuery {
    return { name, ask: async (pool) => (await openRequestHistory({ pool }).largest(builder, page)).length };
  }
}

/**
 * Searches that no rollup (pre-aggregated usage) can answer: pages of the newest records that match a filter, and their
 * number over time.
 */
function searched(builder: Uuid): HistoryQuery[] {
  const filters: Record<string, RequestFilter> = {
    "a common measure": { measures: { tokens: { min: 10n } } },
    "a rare measure": { measures: { ttft: { min: 10_000_000n } } },
    "a rare cost and model": { models: [MODELS[0] as string], measures: { cost: { min: 10n ** 15n } } },
    "without a label": { notLabel: "team-7" },
  };
  const spans: Record<string, RequestFilter> = {
    everything: {},
    "7 days": { from: daysAgo(7) },
    "a day, a model left out": { notModels: [MODELS[0] as string], from: daysAgo(1) },
    "a day, a measure": { measures: { tokens: { min: 10n } }, from: daysAgo(1) },
    "30 days of a label": { label: "team-7", from: daysAgo(30) },
  };
  return [
    ...Object.entries(filters).map(([name, filter]) => ({
      name: `history: ${name}`,
      ask: async (pool: pg.Pool) =>
        (await openRequestHistory({ pool }).search(builder, { ...filter, limit: PAGE_ROWS })).records.length,
    })),
    ...Object.entries(spans).map(([name, filter]) => ({
      name: `over time: ${name}`,
      ask: async (pool: pg.Pool) => {
        const counts = await openRequestHistory({ pool }).counts(builder, filter, {
          nowMs: Date.now(),
          recordsMax: 200_000,
        });
        return counts.counts?.length ?? -1;
      },
    })),
  ];
}

function ofTotals({ cast, days }: QueryContext): HistoryQuery[] {
  const builder = cast.builder as Uuid;
  const filters: Record<string, Parameters<History["total"]>[1]> = {
    everything: {},
    [`${days - 2} days`]: { from: daysAgo(days - 2) },
    "a common model": { models: [MODELS[0] as string] },
    "a rare model": { models: [MODELS.at(-1) as string] },
    "a rare key": { keyIds: [cast.keys[4] as Uuid] },
    "an outcome of 31 days": { outcomes: ["upstream_failed"], from: daysAgo(31) },
    "model, key and outcome": { models: [MODELS[1] as string], keyIds: [cast.keys[1] as Uuid], outcomes: ["ok"] },
    "a span of half an hour": { from: daysAgo(0.1), to: daysAgo(0.08) },
    "a label": { label: "team-7" },
    "a label and a model, 10 days": { label: "team-7", models: [MODELS[1] as string], from: daysAgo(10) },
    "a label and a model": { label: "team-7", models: [MODELS[0] as string] },
  };
  return Object.entries(filters).map(([name, filter]) => ({
    name: `total: ${name}`,
    ask: async (pool) => (await openRequestHistory({ pool }).total(builder, filter, Date.now())).requests,
  }));
}

function ofUsage({ cast, days }: QueryContext): HistoryQuery[] {
  const builder = cast.builder as Uuid;
  const to = new Date();
  type Query = Parameters<ReturnType<typeof openUsageHistory>["sums"]>[1];
  const sums = (name: string, query: Omit<Query, "to">): HistoryQuery => ({
    name: `usage of ${name}`,
    ask: async (pool) => (await openUsageHistory({ pool }).sums(builder, { ...query, to })).length,
  });
  const month = USAGE_GROUPINGS.map((by): HistoryQuery => {
    if (by !== "label") return sums(`31 days by ${by}`, { by, from: daysAgo(31) });
    const ask: HistoryQuery["ask"] = async (pool) =>
      (await openUsageHistory({ pool }).byLabel(builder, { from: daysAgo(31), to })).length;
    return { name: "usage of 31 days by label", ask };
  });
  const longer = [60, 90]
    .filter((length) => length <= days)
    .flatMap((length) =>
      (["day", "model", "key"] as const).map((by) => sums(`${length} days by ${by}`, { by, from: daysAgo(length) })),
    );
  return [
    ...month,
    sums("31 days by day, split by model", { by: "day", split: "model", from: daysAgo(31) }),
    sums("31 days by hour, split by key", { by: "hour", split: "key", from: daysAgo(31) }),
    sums("90 days by day, split by model", { by: "day", split: "model", from: daysAgo(90) }),
    sums("31 days of a key by day (its drawer)", { by: "day", keyId: cast.keys[0] as Uuid, from: daysAgo(31) }),
    ...longer,
    {
      name: "spend of each key, 31 days",
      ask: async (pool) => (await openUsageHistory({ pool }).byKey(builder, daysAgo(31))).size,
    },
    {
      name: "spent of late",
      ask: async (pool) => Number((await openUsageHistory({ pool }).burn(builder, Date.now())).day > 0n),
    },
  ];
}

function ofPerformance({ cast }: QueryContext): HistoryQuery[] {
  const subjects = [cast.builder as Uuid];
  const asked = (name: string, range: PerformanceRange, rows: "model" | "key", keyIds?: Uuid[]): HistoryQuery => ({
    name: `performance of ${range} ${name}`,
    ask: async (pool) => {
      const query = { scope: "account" as const, subjects, keyIds, ...computeTimeSlots(range, Date.now()) };
      const sums = await openPerformanceReader({ pool }).each(query, { total: [], rows: [rows], points: ["slot"] });
      return sums.points.length;
    },
  });
  return TIME_RANGES.flatMap((range) => [
    asked("by model", range, "model"),
    asked("by key", range, "key"),
    asked("of a key, by model (its drawer)", range, "model", [cast.keys[0] as Uuid]),
  ]);
}

function ofStatement({ cast, far }: QueryContext): HistoryQuery[] {
  const builder = cast.builder as Uuid;
  const byDay = async (pool: pg.Pool, pages: number): Promise<number> => {
    let [found, before]: [number, string | undefined] = [0, undefined];
    for (let i = 0; i < pages; i++) {
      const rows = await openAccountStatement({ pool }).byDay(builder, { before, limit: PAGE_ROWS });
      [found, before] = [rows.length, rows.at(-1)?.place];
    }
    return found;
  };
  return [
    { name: "statement by day: first page", isNewest: true, ask: (pool) => byDay(pool, 1) },
    { name: "statement by day: both pages", ask: (pool) => byDay(pool, 2) },
    ...[undefined, far.request].map((before) => ({
      name: `statement by line: ${before === undefined ? "first" : "1,000th"} page`,
      isNewest: before === undefined,
      ask: async (pool: pg.Pool) =>
        (await openAccountStatement({ pool }).lines(builder, { before, limit: PAGE_ROWS })).length,
    })),
  ];
}
