/** The platform at a glance, the proof of its ledger, and the record of what operators did. */
import type { platformRoutes } from "@tollgate/api/console/operator-platform.ts";
import type { Uuid } from "../../../base/ids.ts";
import { exactMicro, pico } from "../../../base/money.ts";
import { DAY_MS, seconds } from "../../../base/time.ts";
import { invalidRequest } from "../../../faults.ts";
import { checkLedger } from "../../../ledger/check.ts";
import type { OperatorAction } from "../../../operators/audit.ts";
import type { Totals, Traffic } from "../../../operators/overview.ts";
import { page } from "../../lists/pages.ts";
import type { Parts } from "../../parts.ts";
import type { Handlers } from "../../routes.ts";

const SPAN_MS_MAX = 31 * DAY_MS;

export function platformHandlers(
  parts: Pick<Parts, "pool" | "overview" | "audit" | "cursors" | "now" | "catalogue" | "nodes">,
): Handlers<typeof platformRoutes> {
  const { pool, overview, audit, cursors, now } = parts;
  return {
    async getOverview({ query }) {
      const { to = new Date(now()), from = new Date(to.getTime() - DAY_MS) } = query;
      if (to < from || to.getTime() - from.getTime() > SPAN_MS_MAX) {
        throw invalidRequest("from", "from must be at most 31 days before to");
      }
      const [totals, traffic] = await Promise.all([overview.totals(), overview.traffic({ from, to })]);
      return {
        object: "overview",
        from: seconds(from),
        to: seconds(to),
        money: moneyObject(totals),
        accounts: { builders: totals.builders, hosts: totals.hosts, suspended: totals.suspended },
        holds: totals.holds,
        nodes: totals.nodes,
        capacity: capacityOfModels(parts),
        traffic: traffic.map(({ hour, ...sums }) => ({ hour: seconds(hour), ...trafficObject(sums) })),
      };
    },

    async checkBooks() {
      const checks = (await checkLedger(pool)).map(({ name, checked, differences }) => ({
        name,
        checked: Number(checked),
        differences,
      }));
      const balanced = checks.every(({ differences }) => differences.length === 0);
      return { object: "ledger_check", balanced, checks };
    },

    listOperatorActions: ({ query }) =>
      page({
        cursors,
        list: "audit",
        query,
        read: (before, max) => audit.list({ before: before as Uuid | undefined, limit: max }),
        position: ({ id }) => id,
        show: actionObject,
      }),
  };
}

export const capacityOfModels = ({ catalogue, nodes }: Pick<Parts, "catalogue" | "nodes">) =>
  [...catalogue().active.keys()].map((model) => ({ model, ...nodes.capacityOf(model) }));

/** Liabilities: what builders own and hosts are owed. */
export function moneyObject({ builderCredit, held, hostsOwed, platformRevenue }: Totals) {
  return {
    builder_credit_micro: exactMicro(builderCredit),
    held_micro: exactMicro(held),
    hosts_owed_micro: exactMicro(hostsOwed),
    liabilities_micro: exactMicro(pico(builderCredit + hostsOwed)),
    platform_revenue_micro: exactMicro(platformRevenue),
  };
}

export function trafficObject({ outcome, requests, promptTokens, completionTokens, charge }: Traffic) {
  return {
    outcome,
    requests,
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    charge_micro: exactMicro(charge),
  };
}

function actionObject({ at, operator, action, subject, details, outcome }: OperatorAction) {
  return { object: "operator_action" as const, at: seconds(at), operator, action, subject, details, outcome };
}
