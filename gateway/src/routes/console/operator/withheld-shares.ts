/** Withheld shares (unpaid earnings) of all hosts: search, and release with a note that the host sees. */
import type { operatorWithheldShareRoutes } from "@tollgate/api/console/operator-withheld-shares.ts";
import { parseId, publicId, type Uuid } from "../../../base/ids.ts";
import { formatExactMicrodollars } from "../../../base/money.ts";
import { listPage } from "../../../http/lists/list-pages.ts";
import type { Handlers } from "../../../http/serve-routes.ts";
import type { LedgerServices } from "../../../ledger/services.ts";
import type { OperatorServices } from "../../../operators/services.ts";
import { makeWithheldShareObject, parseNodeFilter } from "../../nodes/earnings.ts";
import type { SiteServices } from "../../services.ts";

export function operatorWithheldShareHandlers(
  parts: Pick<OperatorServices, "audit"> & Pick<LedgerServices, "reserve"> & Pick<SiteServices, "cursors">,
): Handlers<typeof operatorWithheldShareRoutes> {
  const { audit, reserve, cursors } = parts;
  return {
    listPlatformWithheld: ({ query }) =>
      listPage({
        cursors,
        list: "withheld",
        query,
        read: (before, limit) =>
          reserve.list({
            hostId: query.host === undefined ? undefined : parseId("acc", query.host),
            nodeId: parseNodeFilter(query),
            open: query.open === "true",
            before: before as Uuid | undefined,
            limit,
          }),
        position: ({ requestId }) => requestId,
        show: (share) => ({
          ...makeWithheldShareObject(share),
          account: publicId("acc", share.hostId),
          account_name: share.hostName,
          node_name: share.nodeName,
          released_by: share.releasedBy,
        }),
      }),

    async releaseWithheld({ who, body }) {
      const { requests = [], node, note } = body();
      const nodeId = parseNodeFilter({ node });
      const of = nodeId === undefined ? { requestIds: requests.map((id) => parseId("req", id) as Uuid) } : { nodeId };
      const [only = "", another] = requests;
      const subject = node ?? (another === undefined ? only : "withheld shares");
      const details = { note, ...(another !== undefined && { requests }) };
      const act = { operator: who.email, action: "withheld.release", subject, details };
      const { shares, amount } = await audit.record(act, () => reserve.release(of, { by: who.email, note }));
      return { shares, amount_micro: formatExactMicrodollars(amount) };
    },
  };
}
