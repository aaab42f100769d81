/** The platform's status with its causes, and the decisions that wait for operators. */
import type { triageRoutes } from "@tollgate/api/console/operator-triage.ts";
import { publicId } from "../../../base/ids.ts";
import { formatExactMicrodollars } from "../../../base/money.ts";
import { toUnixSeconds } from "../../../base/time.ts";
import type { HistoryServices } from "../../../history/services.ts";
import type { Handlers } from "../../../http/serve-routes.ts";
import type { InferenceServices } from "../../../inference/services.ts";
import type { LedgerServices } from "../../../ledger/services.ts";
import type { PlatformHealthCause } from "../../../operators/judge-platform-health.ts";
import { createPlatformHealthReader } from "../../../operators/platform-health.ts";
import type { OperatorServices } from "../../../operators/services.ts";
import type { NodeServices } from "../../nodes/services.ts";
import type { SiteServices } from "../../services.ts";
import { sumCapacityByModel } from "./overview.ts";

const SHOWN_MAX = 20;

export function triageHandlers(
  parts: Pick<OperatorServices, "directory" | "payouts" | "disputes"> &
    Pick<HistoryServices, "availability"> &
    Pick<LedgerServices, "givenUp" | "gatewayProcesses"> &
    Pick<InferenceServices, "catalogue"> &
    Pick<NodeServices, "nodes"> &
    Pick<SiteServices, "now" | "outages">,
): Handlers<typeof triageRoutes> {
  const { directory, payouts, disputes, availability, givenUp, gatewayProcesses, outages } = parts;
  const verdicts = createPlatformHealthReader({ availability, outages, capacity: () => sumCapacityByModel(parts) });
  return {
    async getTriage() {
      const now = parts.now();
      const [{ state, causes, capacity, served }, quarantined, batches, disputed, settlementsGivenUp, spools] =
        await Promise.all([
          verdicts.read(now),
          directory.nodes.search({ standing: "quarantined", limit: SHOWN_MAX }),
          payouts.list({ limit: SHOWN_MAX, open: true }),
          disputes(SHOWN_MAX),
          givenUp.count(),
          gatewayProcesses.leftSpools(SHOWN_MAX),
        ]);
      return {
        object: "triage",
        as_of: Math.floor(now / 1000),
        state,
        causes: causes.map(causeObject),
        models: capacity.filter(({ model, nodes }) => nodes > 0 || served.has(model)).length,
        inbox: {
          quarantines: quarantined
            .flatMap(({ id, name, accountId, hostName, quarantine }) =>
              quarantine === null
                ? []
                : [
                    {
                      node: publicId("node", id),
                      name,
                      account: publicId("acc", accountId),
                      account_name: hostName,
                      quarantine: {
                        reason: quarantine.reason,
                        evidence: quarantine.evidence,
                        at: toUnixSeconds(quarantine.at),
                      },
                    },
                  ],
            )
            .sort((a, b) => a.quarantine.at - b.quarantine.at),
          payouts: batches.map(({ id, note, createdAt, hosts, total }) => ({
            id: publicId("pay", id),
            note,
            created_at: toUnixSeconds(createdAt),
            hosts,
            total_micro: formatExactMicrodollars(total),
          })),
          disputes: disputed.map(({ id, accountId, accountName, amount, at }) => ({
            id,
            account: publicId("acc", accountId),
            account_name: accountName,
            amount_micro: formatExactMicrodollars(amount),
            at: toUnixSeconds(at),
          })),
          settlements_given_up: settlementsGivenUp,
          spools_left: spools.map(({ seenAt, ...spool }) => ({ ...spool, seen_at: toUnixSeconds(seenAt) })),
        },
      };
    },
  };
}

const causeObject = (cause: PlatformHealthCause) => ({
  code: cause.code,
  since: cause.since === null ? null : Math.floor(cause.since / 1000),
  part: cause.code === "unreachable" ? cause.part : null,
  models: cause.code === "unreachable" ? [] : cause.models,
});
