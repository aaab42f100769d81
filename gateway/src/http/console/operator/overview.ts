/** The platform at a glance, the proof of its books, and the record of what operators did. */
import { z } from "zod";
import type { Uuid } from "../../../base/ids.ts";
import { exactMicro, pico } from "../../../base/money.ts";
import { invalidRequest } from "../../../faults.ts";
import type { OperatorAction } from "../../../operators/audit.ts";
import type { Totals, Traffic } from "../../../operators/overview.ts";
import { parseFields } from "../../fields.ts";
import { PageFields, page, SpanFields } from "../../lists/pages.ts";
import type { ConsoleRoute, Guards } from "../guards.ts";
import { seconds } from "../keys.ts";
import type { OperatorOptions } from "./options.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const SPAN_MS_MAX = 31 * DAY_MS;

export function overviewRoutes(route: ConsoleRoute, guards: Guards, options: OperatorOptions): void {
  const { overview, audit, cursors } = options;

  route("GET", "/console/api/operator/overview", guards.operator, async ({ query, json }) => {
    const span = parseFields(z.object(SpanFields), Object.fromEntries(query));
    const { to = new Date(options.now()), from = new Date(to.getTime() - DAY_MS) } = span;
    if (to < from || to.getTime() - from.getTime() > SPAN_MS_MAX) {
      throw invalidRequest("from", "from must be at most 31 days before to");
    }
    const [totals, traffic] = await Promise.all([overview.totals(), overview.traffic({ from, to })]);
    json({
      object: "overview",
      from: seconds(from),
      to: seconds(to),
      money: moneyObject(totals),
      accounts: { builders: totals.builders, hosts: totals.hosts, suspended: totals.suspended },
      holds: totals.holds,
      nodes: totals.nodes,
      capacity: options.capacity(),
      traffic: traffic.map(({ hour, ...sums }) => ({ hour: seconds(hour), ...trafficObject(sums) })),
    });
  });
  route("GET", "/console/api/operator/ledger/check", guards.operator, async ({ json }) => {
    const checks = (await options.checkBooks()).map(({ name, checked, differences }) => ({
      name,
      checked: Number(checked),
      differences,
    }));
    json({ object: "ledger_check", balanced: checks.every(({ differences }) => differences.length === 0), checks });
  });
  route("GET", "/console/api/operator/audit", guards.operator, async ({ query, json }) => {
    const { cursor, limit } = parseFields(z.object(PageFields), Object.fromEntries(query));
    json(
      await page({
        cursors,
        list: "audit",
        cursor,
        limit,
        read: (before, max) => audit.list({ before: before as Uuid | undefined, limit: max }),
        position: ({ id }) => id,
        show: actionObject,
      }),
    );
  });
}

/** Liabilities: what builders own and hosts are owed. */
export function moneyObject({ builderCredit, held, hostsOwed, platformRevenue }: Totals): Record<string, string> {
  return {
    builder_credit_micro: exactMicro(builderCredit),
    held_micro: exactMicro(held),
    hosts_owed_micro: exactMicro(hostsOwed),
    liabilities_micro: exactMicro(pico(builderCredit + hostsOwed)),
    platform_revenue_micro: exactMicro(platformRevenue),
  };
}

export function trafficObject({ outcome, requests, promptTokens, completionTokens, charge }: Traffic): object {
  return {
    outcome,
    requests,
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    charge_micro: exactMicro(charge),
  };
}

function actionObject({ at, operator, action, subject, details, outcome }: OperatorAction): object {
  return { object: "operator_action", at: seconds(at), operator, action, subject, details, outcome };
}
