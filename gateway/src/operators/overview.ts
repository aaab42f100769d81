/** The platform in numbers: traffic and revenue by the hour, what is owed to whom, what accounts and nodes there are. */
import type pg from "pg";
import { type Pico, pico } from "../base/money.ts";

export interface Totals {
  /** What builders own, what of it is held for requests under way, what hosts are owed, what the platform earned. */
  builderCredit: Pico;
  held: Pico;
  hostsOwed: Pico;
  platformRevenue: Pico;
  builders: number;
  hosts: number;
  suspended: number;
  holds: number;
  nodes: Record<string, number>;
}

export interface Traffic {
  outcome: string;
  requests: number;
  promptTokens: number;
  completionTokens: number;
  charge: Pico;
}

export interface TrafficHour extends Traffic {
  hour: Date;
}

/** How many nodes could serve a model by their records; which of them are connected, the gateways know. */
export interface ReadyNodes {
  model: string;
  nodes: number;
}

export interface Overview {
  totals(): Promise<Totals>;
  traffic(span: { from: Date; to: Date }): Promise<TrafficHour[]>;
  readyNodes(): Promise<ReadyNodes[]>;
}

export function openOverview({ pool }: { pool: pg.Pool }): Overview {
  return {
    async totals() {
      const [money, accounts, nodes] = await Promise.all([
        pool.query(
          `select coalesce(sum(balance) filter (where kind = 'builder'), 0) as builders,
                  coalesce(sum(balance) filter (where kind = 'host'), 0) as hosts,
                  coalesce(sum(balance) filter (where kind = 'platform'), 0) as platform,
                  coalesce(sum(held), 0) as held, (select count(*)::int from hold) as holds
             from ledger_account`,
        ),
        pool.query(
          `select count(*) filter (where kind = 'builder')::int as builders,
                  count(*) filter (where kind = 'host')::int as hosts,
                  count(*) filter (where suspended_at is not null)::int as suspended from account`,
        ),
        pool.query("select state, count(*)::int as nodes from node group by state order by state"),
      ]);
      const sums = money.rows[0];
      return {
        builderCredit: pico(BigInt(sums.builders)),
        held: pico(BigInt(sums.held)),
        hostsOwed: pico(BigInt(sums.hosts)),
        platformRevenue: pico(BigInt(sums.platform)),
        holds: sums.holds,
        ...accounts.rows[0],
        nodes: Object.fromEntries(nodes.rows.map(({ state, nodes: count }) => [state, count])),
      };
    },
    async traffic({ from, to }) {
      const { rows } = await pool.query(
        `select hour, outcome, sum(requests) as requests, sum(prompt_tokens) as prompt,
                sum(completion_tokens) as completion, sum(charge_pico) as charge
           from usage_hour where hour >= date_trunc('hour', $1::timestamptz) and hour < $2
          group by 1, 2 order by 1, 2`,
        [from, to],
      );
      return rows.map(({ hour, outcome, requests, prompt, completion, charge }) => ({
        hour,
        outcome,
        requests: Number(requests),
        promptTokens: Number(prompt),
        completionTokens: Number(completion),
        charge: pico(BigInt(charge)),
      }));
    },
    async readyNodes() {
      const { rows } = await pool.query(
        `select e.model, count(*)::int as nodes from node n join node_election e on e.node_id = n.id
           join account a on a.id = n.account_id
          where n.state = 'ready' and a.suspended_at is null group by 1 order by 1`,
      );
      return rows;
    },
  };
}

/** The records know which nodes may work; how many of those are connected now, a gateway sees. */
export function withOnline({ nodes: { ready = 0, ...others }, ...totals }: Totals, connected: number): Totals {
  const online = Math.min(ready, connected);
  const away = ready - online;
  return { ...totals, nodes: { ...(online > 0 && { online }), ...(away > 0 && { ready: away }), ...others } };
}
