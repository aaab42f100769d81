/** The platform's status with its causes, and the decisions that wait for operators. */
import type { triageRoutes } from "@tollgate/api/console/operator-triage.ts";
import { publicId } from "../../../base/ids.ts";
import { formatExactMicrodollars } from "../../../base/money.ts";
import { toUnixSeconds } from "../../../base/time.ts";
import type { HistoryParts } from "../../../history/parts.ts";
import type { Handlers } from "../../../http/routes.ts";
import type { InferenceParts } from "../../../inference/parts.ts";
import type { LedgerParts } from "../../../ledger/parts.ts";
import type { OperatorParts } from "../../../operators/parts.ts";
import { openVerdicts } from "../../../operators/platform-verdict.ts";
import type { PlatformVerdictCause } from "../../../operators/verdict.ts";
import type { NodeParts } from "../../nodes/parts.ts";
import type { SiteParts } from "../../parts.ts";
import { capacityOfModels } from "./overview.ts";

const SHOWN_MAX = 20;

export function triageHandlers(
  parts: Pick<OperatorParts, "directory" | "payouts" | "disputes"> &
    Pick<HistoryParts, "availability"> &
    Pick<LedgerParts, "ledger"> &
    Pick<InferenceParts, "catalogue"> &
    Pick<NodeParts, "nodes"> &
    Pick<SiteParts, "now" | "outages">,
): Handlers<typeof triageRoutes> {
  const { directory, payouts, disputes, availability, ledger, outages } = parts;
  const verdicts = openVerdicts({ availability, outages, capacity: () => capacityOfModels(parts) });
  return {
    async getTriage() {
      const now = parts.now();
      const [{ state, causes, capacity, served }, quarantined, batches, disputed] = await Promise.all([
        verdicts.read(now),
        directory.nodes.search({ standing: "quarantined", limit: SHOWN_MAX }),
        payouts.list({ limit: SHOWN_MAX }),
        disputes(SHOWN_MAX),
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
          payouts: batches
            .filter(({ paidAt }) => paidAt === null)
            .map(({ id, note, createdAt, hosts, total }) => ({
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
          settlements_given_up: ledger.tallies.givenUp,
        },
      };
    },
  };
}

const causeObject = (cause: PlatformVerdictCause) => ({
  code: cause.code,
  since: cause.since === null ? null : Math.floor(cause.since / 1000),
  part: cause.code === "unreachable" ? cause.part : null,
  models: cause.code === "unreachable" ? [] : cause.models,
});
