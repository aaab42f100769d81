/** A request by its ID for operators: its outcome, its builder and host, and its ledger lines, but never its text. */
import type { platformRequestRoutes } from "@tollgate/api/console/operator-requests.ts";
import { parseId, publicId, type Uuid } from "../../../base/ids.ts";
import { formatExactMicrodollars, type Pico, pico, ZERO } from "../../../base/money.ts";
import type { RequestRecord } from "../../../history/request-history.ts";
import type { HistoryServices } from "../../../history/services.ts";
import { createRequestNotFoundFault } from "../../../http/lists/no-such-request.ts";
import type { Handlers } from "../../../http/serve-routes.ts";
import type { RequestParties } from "../../../operators/request-parties.ts";
import type { OperatorServices } from "../../../operators/services.ts";
import { ANSWER_ID_PREFIX, attemptObject, requestObject } from "../requests.ts";

export function platformRequestHandlers(
  parts: Pick<OperatorServices, "audit" | "partiesOf"> &
    Pick<HistoryServices, "history" | "receipts" | "requestAttempts">,
): Handlers<typeof platformRequestRoutes> {
  const { audit, partiesOf, history, receipts, requestAttempts } = parts;
  return {
    async getPlatformRequest({ who, params, refuse }) {
      const text = params.id.replace(ANSWER_ID_PREFIX, "req_");
      const id = parseId("req", text);
      if (id === undefined) throw await createRequestNotFoundFault(history, id, refuse);
      const subject = publicId("req", id);
      return audit.record({ operator: who.email, action: "request.read", subject }, async () => {
        const found = await partiesOf(id);
        const record = found && (await history.find(found.accountId, id));
        if (record === undefined || found === undefined) throw await createRequestNotFoundFault(history, id, refuse);
        const attempts = await requestAttempts.of(id);
        return {
          ...requestObject(record),
          attempt_list: attempts.map((one) => ({
            ...attemptObject(one),
            node: named("node", one.nodeId, one.nodeName),
          })),
          account: named("acc", found.accountId, found.accountName),
          node: record.nodeId === null ? null : named("node", record.nodeId, found.nodeName ?? ""),
          host: found.hostId === null ? null : named("acc", found.hostId, found.hostName ?? ""),
          ledger: ledgerLines(record, found),
          withheld: found.withheldReason,
          receipt: receipts.of(record),
        };
      });
    },
  };
}

const named = (prefix: "acc" | "node", id: Uuid, name: string) => ({ id: publicId(prefix, id), name });

/** The transfers that settled a request, without transfers of zero. */
function ledgerLines({ charge, hostShare }: RequestRecord, found: RequestParties) {
  const withheld = found.withheld ?? ZERO;
  const host = found.hostId === null ? null : named("acc", found.hostId, found.hostName ?? "");
  const lines: { kind: "charge" | "share" | "withheld" | "fee"; account: typeof host; amount: Pico }[] = [
    { kind: "charge", account: named("acc", found.accountId, found.accountName), amount: pico(-charge) },
    { kind: "share", account: host, amount: hostShare },
    { kind: "withheld", account: null, amount: withheld },
    { kind: "fee", account: null, amount: pico(charge - hostShare - withheld) },
  ];
  return lines
    .filter(({ amount }) => amount !== ZERO)
    .map(({ amount, ...line }) => ({ ...line, amount_micro: formatExactMicrodollars(amount) }));
}
