/** Spot checks (verified real answers) of all nodes, by node and model. Their costs are compared with the charges. */
import type { operatorSpotCheckRoutes } from "@tollgate/api/console/operator-spot-checks.ts";
import { publicId } from "../../../base/ids.ts";
import { formatExactMicrodollars, type Pico, ZERO } from "../../../base/money.ts";
import { DAY_MS, toUnixSeconds } from "../../../base/time.ts";
import { singlePage } from "../../../http/lists/list-pages.ts";
import type { Handlers } from "../../../http/serve-routes.ts";
import type { OperatorServices } from "../../../operators/services.ts";
import { parseNodeFilter } from "../../nodes/earnings.ts";
import type { NodeServices } from "../../nodes/services.ts";
import { roundScore } from "../../nodes/spot-checks.ts";
import type { SiteServices } from "../../services.ts";

const DAYS = 30;

export function operatorSpotCheckHandlers(
  parts: Pick<NodeServices, "checks"> & Pick<OperatorServices, "spend"> & Pick<SiteServices, "now">,
): Handlers<typeof operatorSpotCheckRoutes> {
  const { checks, spend, now } = parts;
  return {
    async listPlatformChecks({ query }) {
      const to = new Date(now());
      const from = new Date(to.getTime() - DAYS * DAY_MS);
      const [nodes, models, charged] = await Promise.all([
        checks.sums(from, parseNodeFilter(query)),
        checks.models(from),
        spend.models({ from, to }),
      ]);
      const chargeOf = new Map<string, Pico>(charged.map(({ model, charge }) => [model, charge]));
      return {
        ...singlePage(
          nodes.map(
            ({ nodeId, nodeName, hostId, hostName, model, checks: count, bad, score, strength, cost, lastAt }) => ({
              node: publicId("node", nodeId),
              node_name: nodeName,
              account: publicId("acc", hostId),
              account_name: hostName,
              model,
              checks: count,
              bad,
              cost_micro: formatExactMicrodollars(cost),
              score: roundScore(score),
              evidence: roundScore(strength),
              last_at: toUnixSeconds(lastAt),
            }),
          ),
        ),
        from: toUnixSeconds(from),
        models: models.map(({ model, checks: count, bad, cost }) => ({
          model,
          checks: count,
          bad,
          cost_micro: formatExactMicrodollars(cost),
          charged_micro: formatExactMicrodollars(chargeOf.get(model) ?? ZERO),
        })),
      };
    },
  };
}
