/** The operators' overview of the platform, and its ledger check. */
import type { platformRoutes } from "@tollgate/api/console/operator-platform.ts";
import { formatExactMicrodollars, pico } from "../../../base/money.ts";
import { DAY_MS, toUnixSeconds } from "../../../base/time.ts";
import { ruleViolation } from "../../../faults.ts";
import type { Handlers } from "../../../http/serve-routes.ts";
import type { InferenceServices } from "../../../inference/services.ts";
import type { PlatformTotals, PlatformTraffic } from "../../../operators/overview.ts";
import type { OperatorServices } from "../../../operators/services.ts";
import type { NodeServices } from "../../nodes/services.ts";
import type { SiteServices } from "../../services.ts";

const SPAN_MS_MAX = 31 * DAY_MS;

export function platformHandlers(
  parts: Pick<OperatorServices, "overview" | "books"> &
    Pick<SiteServices, "now"> &
    Pick<InferenceServices, "catalogue"> &
    Pick<NodeServices, "nodes">,
): Handlers<typeof platformRoutes> {
  const { overview, books, now } = parts;
  return {
    async getOverview({ query }) {
      const { to = new Date(now()), from = new Date(to.getTime() - DAY_MS) } = query;
      if (to < from || to.getTime() - from.getTime() > SPAN_MS_MAX) {
        throw ruleViolation("from", 'must be at most 31 days before "to"');
      }
      const [totals, traffic] = await Promise.all([overview.totals(), overview.traffic({ from, to })]);
      return {
        object: "overview",
        from: toUnixSeconds(from),
        to: toUnixSeconds(to),
        money: moneyObject(totals),
        accounts: { builders: totals.builders, hosts: totals.hosts, suspended: totals.suspended },
        holds: totals.holds,
        nodes: totals.nodes,
        capacity: sumCapacityByModel(parts),
        traffic: traffic.map(({ hour, ...sums }) => ({ hour: toUnixSeconds(hour), ...trafficObject(sums) })),
      };
    },

    async checkLedger({ who }) {
      const { at, askedBy, tookMs, balanced, checks } = await books.prove(who.email);
      return { object: "ledger_check", at: toUnixSeconds(at), asked_by: askedBy, took_ms: tookMs, balanced, checks };
    },
  };
}

export const sumCapacityByModel = ({
  catalogue,
  nodes,
}: Pick<InferenceServices, "catalogue"> & Pick<NodeServices, "nodes">) =>
  [...catalogue().active.keys()].map((model) => ({ model, ...nodes.capacityOf(model) }));

/** The platform's money. Liabilities are the builders' balances and the amount owed to hosts. */
export function moneyObject({ builderCredit, held, hostsOwed, platformRevenue }: PlatformTotals) {
  return {
    builder_credit_micro: formatExactMicrodollars(builderCredit),
    held_micro: formatExactMicrodollars(held),
    hosts_owed_micro: formatExactMicrodollars(hostsOwed),
    liabilities_micro: formatExactMicrodollars(pico(builderCredit + hostsOwed)),
    platform_revenue_micro: formatExactMicrodollars(platformRevenue),
  };
}

export function trafficObject({ outcome, requests, promptTokens, completionTokens, charge }: PlatformTraffic) {
  return {
    outcome,
    requests,
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    charge_micro: formatExactMicrodollars(charge),
  };
}
