/** `tollgate admin overview`: money, accounts, nodes and the traffic of the last days, as the records have them. */
import { systemClock } from "../../base/clock.ts";
import { exactMicro, type Pico, pico, ZERO } from "../../base/money.ts";
import { moneyObject, trafficObject } from "../../http/console/operator/overview.ts";
import { openOverview, type Traffic } from "../../operators/overview.ts";
import type { AdminRun } from "./admin-run.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const DAYS_MAX = 31;

export async function overview({ pool, json, print, flags }: AdminRun): Promise<number> {
  const days = daysOf(flags.days);
  const to = new Date(systemClock.now());
  const from = new Date(to.getTime() - days * DAY_MS);
  const records = openOverview({ pool });
  const [totals, hours, ready] = await Promise.all([
    records.totals(),
    records.traffic({ from, to }),
    records.readyNodes(),
  ]);
  const { builders, hosts, suspended, holds, nodes } = totals;
  const traffic = byOutcome(hours);
  const shown = {
    from: from.toISOString(),
    to: to.toISOString(),
    money: moneyObject(totals),
    accounts: { builders, hosts, suspended },
    holds,
    nodes,
    ready_nodes: ready,
    traffic: traffic.map(trafficObject),
  };
  if (json) print(JSON.stringify(shown, null, 2));
  else for (const line of linesOf(shown, traffic, days)) print(line);
  return 0;
}

interface Shown {
  money: Record<string, string>;
  accounts: { builders: number; hosts: number; suspended: number };
  holds: number;
  nodes: Record<string, number>;
  ready_nodes: { model: string; nodes: number }[];
}

function linesOf({ money, accounts, holds, nodes, ready_nodes }: Shown, traffic: Traffic[], days: number): string[] {
  const { builders, hosts, suspended } = accounts;
  const charged = traffic.reduce<Pico>((sum, { charge }) => pico(sum + charge), ZERO);
  return [
    `Builders' credit   ${money.builder_credit_micro} µ, of which ${money.held_micro} µ held by ${holds} running requests`,
    `Owed to hosts      ${money.hosts_owed_micro} µ`,
    `Liabilities        ${money.liabilities_micro} µ`,
    `Platform revenue   ${money.platform_revenue_micro} µ since the beginning`,
    `Accounts           ${builders} builders, ${hosts} hosts, ${suspended} suspended`,
    `Nodes              ${named(Object.entries(nodes).map(([state, count]) => `${count} ${state}`))}`,
    `Ready, by model    ${named(ready_nodes.map(({ model, nodes: count }) => `${model} ${count}`))}`,
    `Traffic            ${days === 1 ? "the last day" : `the last ${days} days`}, ${exactMicro(charged)} µ charged`,
    ...traffic.map(
      ({ outcome, requests, promptTokens, completionTokens, charge }) =>
        `  ${outcome.padEnd(24)} ${requests} requests, ${promptTokens} + ${completionTokens} tokens, ${exactMicro(charge)} µ`,
    ),
  ];
}

const named = (parts: string[]): string => parts.join(", ") || "none";

function byOutcome(hours: Traffic[]): Traffic[] {
  return [...Map.groupBy(hours, ({ outcome }) => outcome)].map(([outcome, rows]) => {
    const sum = (of: (row: Traffic) => number): number => rows.reduce((total, row) => total + of(row), 0);
    return {
      outcome,
      requests: sum(({ requests }) => requests),
      promptTokens: sum(({ promptTokens }) => promptTokens),
      completionTokens: sum(({ completionTokens }) => completionTokens),
      charge: rows.reduce<Pico>((total, { charge }) => pico(total + charge), ZERO),
    };
  });
}

function daysOf(text = "1"): number {
  const days = /^\d{1,2}$/.test(text) ? Number(text) : 0;
  if (days < 1 || days > DAYS_MAX) throw new Error(`--days must be a whole number from 1 to ${DAYS_MAX}`);
  return days;
}
