/** Demand for and earnings of each model over all hosts, from rollups. */
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import { PICO_PER_MICRO, type Pico, pico, ZERO } from "../base/money.ts";
import { HOUR_MS } from "../base/time.ts";
import { column, queryRows, row } from "../db/rows.ts";
import { computeTimeSlots, type PerformanceReader, type PerformanceSum, type TimeSlots } from "./performance-reader.ts";

export interface ModelTokensAndBusyTime {
  model: string;
  promptTokens: number;
  completionTokens: number;
  busyMs: number;
}

interface ModelMarket {
  /** Input and output tokens in the last 24 hours, per hour. */
  hourTokens24h: number;
  hourTokens7d: number;
  /** The work of all nodes with the model in the last 7 days. */
  work: ModelTokensAndBusyTime | undefined;
  /**
   * By host account: the last 24 hours' earnings of the nodes for which the host elected (chose) the model, and their
   * connected time.
   */
  hosts: { accountId: Uuid; earned: Pico; connectedMs: number }[];
}

export interface MarketReader {
  /** The market of each model over all hosts. At most a minute old. */
  models(): Promise<Map<string, ModelMarket>>;
  /** The work of one node in the last 7 days, by model. */
  workOf(nodeId: Uuid): Promise<ModelTokensAndBusyTime[]>;
}

/** How long results are cached, because many hosts ask and each result reads the rollups of a whole day. */
const KEPT_MS = 60_000;

const Served = row({
  model: z.string(),
  accountId: column.uuid,
  earned: column.pico,
  connectedHours: z.number(),
});

/**
 * The earnings and connected hours of nodes, by host account and model, for the models that the host elected (chose).
 * Looks up each node's own rows, so that no other rows are read.
 */
const SERVED = `
  with hours as (
    select n.id, n.account_id, e.model,
           (select coalesce(sum(least(1, p.samples::float8 / nullif(a.samples, 0))
                                * least(1, extract(epoch from $2::timestamptz - p.slot) / 3600)), 0)
              from node_presence p
              join node_presence a on a.node_id = '00000000-0000-0000-0000-000000000000' and a.grain = 'hour' and a.slot = p.slot
             where p.node_id = n.id and p.grain = 'hour' and p.slot >= $1) as connected,
           (select coalesce(sum(h.host_pico), 0) from earning_hour h
             where h.host_account_id = n.account_id and h.hour >= $1 and h.node_id = n.id and h.model = e.model) as earned
      from node n join node_election e on e.node_id = n.id where n.state <> 'retired'
  )
  select model, account_id as "accountId", sum(earned) as earned, sum(connected)::float8 as "connectedHours"
    from hours group by 1, 2`;

export function createMarketReader(options: {
  pool: pg.Pool;
  performance: PerformanceReader;
  now: () => number;
}): MarketReader {
  const { pool, performance, now } = options;
  const workOf = ({ model, promptTokens, completionTokens, busyMs }: PerformanceSum): ModelTokensAndBusyTime => ({
    ...{ model: model ?? "", promptTokens, completionTokens, busyMs },
  });
  const look = async (): Promise<Map<string, ModelMarket>> => {
    const [day, week] = [computeTimeSlots("24h", now()), computeTimeSlots("7d", now())];
    const [lastDay, lastWeek, served] = await Promise.all([
      performance.sums({ scope: "platform", ...day, by: ["model"], percentilesOf: [] }),
      performance.sums({ scope: "platform", ...week, by: ["model"], percentilesOf: [] }),
      queryRows(pool, Served, SERVED, [day.from, new Date(now())]),
    ]);
    const perHour = (sum: PerformanceSum, { from }: TimeSlots): number =>
      ((sum.promptTokens + sum.completionTokens) * HOUR_MS) / (now() - from.getTime());
    const found = new Map<string, ModelMarket>();
    const entry = (model: string): ModelMarket => {
      const known = found.get(model) ?? { hourTokens24h: 0, hourTokens7d: 0, work: undefined, hosts: [] };
      found.set(model, known);
      return known;
    };
    for (const sum of lastDay) entry(sum.model ?? "").hourTokens24h = perHour(sum, day);
    for (const sum of lastWeek)
      Object.assign(entry(sum.model ?? ""), { hourTokens7d: perHour(sum, week), work: workOf(sum) });
    for (const { model, accountId, earned, connectedHours } of served)
      entry(model).hosts.push({ accountId, earned, connectedMs: connectedHours * HOUR_MS });
    return found;
  };
  let kept: { at: number; models: Promise<Map<string, ModelMarket>> } | undefined;
  return {
    models() {
      if (kept === undefined || now() - kept.at >= KEPT_MS) {
        const models = look();
        const fresh = { at: now(), models };
        kept = fresh;
        // After a failure the next call reads again instead of using the cache.
        models.catch(() => {
          if (kept === fresh) kept = undefined;
        });
      }
      return kept.models;
    },
    async workOf(nodeId) {
      const sums = await performance.sums({
        scope: "node",
        subjects: [nodeId],
        ...computeTimeSlots("7d", now()),
        by: ["model"],
        percentilesOf: [],
      });
      return sums.map(workOf);
    },
  };
}

const HOSTS_MIN = 3;

/**
 * The mean earnings of a node per connected hour with a model. Null when fewer than three hosts have nodes with the
 * model and `asker` is not one of them: with two hosts, each could compute the other's earnings.
 */
export function computeMeanHourlyEarnings({ hosts }: Pick<ModelMarket, "hosts">, asker: Uuid): Pico | null {
  const there = hosts.filter(({ connectedMs }) => connectedMs > 0);
  const hours = there.reduce((sum, { connectedMs }) => sum + connectedMs, 0) / HOUR_MS;
  const alone = there.every(({ accountId }) => accountId === asker);
  if (hours === 0 || (there.length < HOSTS_MIN && !alone)) return null;
  const earned = there.reduce((sum, host) => sum + host.earned, ZERO as bigint);
  return inMicro((earned * 1000n) / BigInt(Math.max(1, Math.round(hours * 1000))));
}

/** The host's earnings per busy hour of a slot at these prices. Null without work. */
export function computeHourlySlotEarnings(
  { promptTokens, completionTokens, busyMs }: ModelTokensAndBusyTime,
  prices: { in: bigint; out: bigint; sharePercent: number },
): Pico | null {
  if (busyMs <= 0) return null;
  const cost = BigInt(promptTokens) * prices.in + BigInt(completionTokens) * prices.out;
  return inMicro((cost * BigInt(prices.sharePercent) * BigInt(HOUR_MS)) / (100n * BigInt(Math.round(busyMs))));
}

/** Rounded down to microdollars, because it is an estimate. */
const inMicro = (amount: bigint): Pico => pico(amount - (amount % PICO_PER_MICRO));
