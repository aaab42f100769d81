/** The platform's figures: traffic and revenue by hour, liabilities, accounts and nodes. */
import type pg from "pg";
import { z } from "zod";
import { NODE_STANDINGS, type NodeStanding, REQUEST_OUTCOMES } from "../base/stored-enumerations.ts";
import { hasClosedDays, usageRowsSql } from "../db/closed-days.ts";
import { type FailoverDataLoss, readFailoverDataLosses } from "../db/lineage/failover-data-losses.ts";
import { column, queryOne, queryRows, row } from "../db/rows.ts";
import { buildLedgerViewsClause } from "../ledger/sql-views.ts";

const Money = row({
  /** The sum of the builders' balances. */
  builderCredit: column.pico,
  /** The part of the builders' balances that is held for requests in flight. */
  held: column.pico,
  /** The sum of the hosts' balances, which the platform owes them. */
  hostsOwed: column.pico,
  /** The platform's earnings. */
  platformRevenue: column.pico,
  holds: column.count,
});
const Accounts = row({ builders: column.count, hosts: column.count, suspended: column.count });
const NodeCount = row({ state: z.enum(NODE_STANDINGS), nodes: column.count });

export interface PlatformTotals extends z.infer<typeof Money>, z.infer<typeof Accounts> {
  /** The number of nodes by standing. "online": the ready nodes that are connected, if known. */
  nodes: Partial<Record<NodeStanding | "online", number>>;
}

const TrafficHour = row({
  hour: column.moment,
  outcome: z.enum(REQUEST_OUTCOMES),
  requests: column.count,
  promptTokens: column.count,
  completionTokens: column.count,
  charge: column.pico,
});
type TrafficHour = z.infer<typeof TrafficHour>;
export type PlatformTraffic = Omit<TrafficHour, "hour">;

/** The number of nodes that may serve a model according to their records, whether connected or not. */
const ReadyNodes = row({ model: z.string(), nodes: column.count });
type ReadyNodes = z.infer<typeof ReadyNodes>;

const SPAN = { from: "date_trunc('hour', $1::timestamptz)", to: "$2::timestamptz" };

const Operators = row({ operators: column.count });

export interface Overview {
  /** The number of operators. */
  operators(): Promise<number>;
  totals(): Promise<PlatformTotals>;
  traffic(span: { from: Date; to: Date }): Promise<TrafficHour[]>;
  readyNodes(): Promise<ReadyNodes[]>;
  /** Failovers that lost data, newest first. */
  losses(since: Date): Promise<FailoverDataLoss[]>;
}

export function openOverview({ pool }: { pool: pg.Pool }): Overview {
  return {
    operators: async () =>
      (await queryOne(pool, Operators, "select count(*)::int as operators from identity where operator")).operators,
    async totals() {
      const books = await buildLedgerViewsClause(pool);
      const [money, accounts, nodes] = await Promise.all([
        queryOne(
          pool,
          Money,
          `${books}select coalesce(sum(balance) filter (where kind = 'builder'), 0) as "builderCredit",
                  coalesce(sum(balance) filter (where kind = 'host'), 0) as "hostsOwed",
                  coalesce(sum(balance) filter (where kind = 'platform'), 0) as "platformRevenue",
                  coalesce(sum(held), 0) as held, (select count(*)::int from hold) as holds
             from ledger_book`,
        ),
        queryOne(
          pool,
          Accounts,
          `select count(*) filter (where kind = 'builder')::int as builders,
                  count(*) filter (where kind = 'host')::int as hosts,
                  count(*) filter (where suspended_at is not null)::int as suspended from account`,
        ),
        queryRows(pool, NodeCount, "select state, count(*)::int as nodes from node group by state order by state"),
      ]);
      return {
        ...money,
        ...accounts,
        nodes: Object.fromEntries(nodes.map(({ state, nodes: count }) => [state, count])),
      };
    },
    losses: (since) => readFailoverDataLosses(pool, since),
    traffic: async ({ from, to }) =>
      queryRows(
        pool,
        TrafficHour,
        `select hour, outcome, sum(requests)::float8 as requests, sum(prompt_tokens)::float8 as "promptTokens",
                sum(completion_tokens)::float8 as "completionTokens", sum(charge_pico) as charge
           from ${usageRowsSql("all", SPAN, await hasClosedDays(pool))} used
          group by 1, 2 order by 1, 2`,
        [from, to],
      ),
    readyNodes: () =>
      queryRows(
        pool,
        ReadyNodes,
        `select e.model, count(*)::int as nodes from node n join node_election e on e.node_id = n.id
           join account a on a.id = n.account_id
          where n.state = 'ready' and a.suspended_at is null group by 1 order by 1`,
      ),
  };
}

/**
 * Adds the number of connected nodes. Node records only contain which nodes may work; connections are tracked by
 * gateways.
 */
export function totalsWithOnlineNodes(
  { nodes: { ready = 0, ...others }, ...totals }: PlatformTotals,
  connected: number,
): PlatformTotals {
  const online = Math.min(ready, connected);
  const away = ready - online;
  return { ...totals, nodes: { ...(online > 0 && { online }), ...(away > 0 && { ready: away }), ...others } };
}
