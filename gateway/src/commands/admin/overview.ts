/** `tollgate admin overview`: balances, accounts, nodes and recent traffic. */

import { UsageError } from "@tollgate/terminal/errors.ts";
import { type Column, formatProperties, formatTable } from "@tollgate/terminal/table-format.ts";
import type { Terminal } from "@tollgate/terminal/terminal.ts";
import { type Pico, pico, ZERO } from "../../base/money.ts";
import { DAY_MS } from "../../base/time.ts";
import { openOverview, type PlatformTotals, type PlatformTraffic } from "../../operators/overview.ts";
import type { AdminRun } from "./admin-run.ts";
import { formatDollars } from "./format-dollars.ts";

export const OVERVIEW_DAYS_MAX = 31;

export async function showOverview({ pool, clock, json, print, flags, terminal }: AdminRun): Promise<number> {
  const days = daysOf(flags.days);
  const to = new Date(clock.now());
  const from = new Date(to.getTime() - days * DAY_MS);
  const records = openOverview({ pool });
  const [totals, hours, ready] = await Promise.all([
    records.totals(),
    records.traffic({ from, to }),
    records.readyNodes(),
  ]);
  const { builders, hosts, suspended, holds, nodes } = totals;
  const traffic = byOutcome(hours);
  // Imported here, because a static import would load this module for every command.
  const { moneyObject, trafficObject } = await import("../../routes/console/operator/overview.ts");
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
  else print(textOf(totals, { ready, traffic, days }, terminal));
  return 0;
}

interface Facts {
  ready: { model: string; nodes: number }[];
  traffic: PlatformTraffic[];
  days: number;
}

function textOf(totals: PlatformTotals, { ready, traffic, days }: Facts, terminal: Terminal): string {
  const { builderCredit, held, hostsOwed, platformRevenue, builders, hosts, suspended, holds, nodes } = totals;
  const charged = traffic.reduce<Pico>((sum, { charge }) => pico(sum + charge), ZERO);
  const numbers = formatProperties(
    {
      "Builders' credit": `${formatDollars(builderCredit)}, of which ${formatDollars(held)} is held by ${holds} requests in flight`,
      "Owed to hosts": formatDollars(hostsOwed),
      Liabilities: formatDollars(pico(builderCredit + hostsOwed)),
      "Platform revenue": `${formatDollars(platformRevenue)} since the beginning`,
      Accounts: `${builders} builders, ${hosts} hosts, ${suspended} suspended`,
      Nodes: named(Object.entries(nodes).map(([state, count]) => `${count} ${state}`)),
      "Ready, by model": named(ready.map(({ model, nodes: count }) => `${model} ${count}`)),
      Traffic: `the last ${days === 1 ? "day" : `${days} days`}, ${formatDollars(charged)} charged`,
    },
    terminal,
  );
  return traffic.length === 0 ? numbers : `${numbers}\n\n${formatTable(COLUMNS, traffic, terminal)}`;
}

const COLUMNS: Column<PlatformTraffic>[] = [
  { title: "OUTCOME", cell: ({ outcome }) => outcome },
  { title: "REQUESTS", align: "right", cell: ({ requests }) => requests },
  { title: "TOKENS IN", align: "right", cell: ({ promptTokens }) => promptTokens },
  { title: "TOKENS OUT", align: "right", cell: ({ completionTokens }) => completionTokens },
  { title: "CHARGED", align: "money", cell: ({ charge }) => formatDollars(charge) },
];

const named = (parts: string[]): string => parts.join(", ") || "none";

function byOutcome(hours: PlatformTraffic[]): PlatformTraffic[] {
  return [...Map.groupBy(hours, ({ outcome }) => outcome)].map(([outcome, rows]) => {
    const sum = (of: (row: PlatformTraffic) => number): number => rows.reduce((total, row) => total + of(row), 0);
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
  if (days < 1 || days > OVERVIEW_DAYS_MAX)
    throw new UsageError(`--days must be a whole number from 1 to ${OVERVIEW_DAYS_MAX}`);
  return days;
}
