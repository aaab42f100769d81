/** A host's earnings by request, and the amount owed. */

import type { EarningsQuery, WithheldQuery } from "@tollgate/api/nodes/request-fields.ts";
import type { Earning, EarningList, WithheldList, WithheldShare } from "@tollgate/api/nodes/response-schemas.ts";
import type { z } from "zod";
import { parseId, publicId, type Uuid } from "../../base/ids.ts";
import { formatExactMicrodollars, pico } from "../../base/money.ts";
import type { WithheldReason } from "../../base/stored-enumerations.ts";
import { startOfDay, toUnixSeconds } from "../../base/time.ts";
import type { EarningLine } from "../../history/earnings.ts";
import type { HistoryServices } from "../../history/services.ts";
import { listPage } from "../../http/lists/list-pages.ts";
import type { WithOptionalTime } from "../../http/serve-routes.ts";
import type { LedgerServices } from "../../ledger/services.ts";
import type { WithheldShare as Share } from "../../ledger/withheld-shares-reserve.ts";
import type { SiteServices } from "../services.ts";

export type EarningsDependencies = Pick<HistoryServices, "earnings"> &
  Pick<LedgerServices, "hostMoney" | "reserve"> &
  Pick<SiteServices, "cursors" | "now">;

export const parseNodeFilter = ({ node }: { node?: string | undefined }): Uuid | undefined =>
  node === undefined ? undefined : parseId("node", node);

export async function readEarningsPage(
  { earnings, hostMoney, cursors, now }: EarningsDependencies,
  accountId: Uuid,
  query: z.output<typeof EarningsQuery>,
): Promise<WithOptionalTime<z.input<typeof EarningList>>> {
  const { from, to } = query;
  const nodeId = parseNodeFilter(query);
  const [{ pending, paidOut, setOff, heldBack, withheld }, own, today, lines] = await Promise.all([
    hostMoney(accountId),
    earnings.own(accountId),
    earnings.sum(accountId, { nodeId, from: startOfDay(now()) }),
    listPage({
      cursors,
      list: `earnings ${accountId}`,
      query,
      read: (before, max) =>
        earnings.lines(accountId, { nodeId, from, to, before: before as Uuid | undefined, limit: max }),
      position: ({ id }) => id,
      show: earningObject,
    }),
  ]);
  return {
    ...lines,
    balance: {
      earned_micro: formatExactMicrodollars(pico(pending + paidOut + setOff)),
      own_micro: formatExactMicrodollars(own),
      paid_out_micro: formatExactMicrodollars(paidOut),
      set_off_micro: formatExactMicrodollars(setOff),
      pending_micro: formatExactMicrodollars(pending),
      held_back_micro: formatExactMicrodollars(heldBack),
      withheld_micro: formatExactMicrodollars(withheld),
    },
    today_micro: formatExactMicrodollars(today.earned),
  };
}

const REASONS: Record<WithheldReason, string> = {
  node_failed: "The node reported a failure.",
  node_silent: "The node stopped sending output, or sent less than 2 tokens a second until the client disconnected.",
  no_first_token:
    "The client disconnected before the first token, and the length of the prompt does not explain the wait.",
  spot_check: "The node failed a spot check.",
};

export const readWithheldEarningsPage = (
  { reserve, cursors }: EarningsDependencies,
  hostId: Uuid,
  query: z.output<typeof WithheldQuery>,
): Promise<WithOptionalTime<z.input<typeof WithheldList>>> =>
  listPage({
    cursors,
    list: `withheld ${hostId}`,
    query,
    read: (before, limit) =>
      reserve.list({ hostId, nodeId: parseNodeFilter(query), before: before as Uuid | undefined, limit }),
    position: ({ requestId }) => requestId,
    show: makeWithheldShareObject,
  });

export function makeWithheldShareObject(share: Share): z.input<typeof WithheldShare> {
  return {
    request_id: publicId("req", share.requestId),
    node: publicId("node", share.nodeId),
    model: share.model,
    outcome: share.outcome,
    withheld_at: toUnixSeconds(share.at),
    amount_micro: formatExactMicrodollars(share.amount),
    reason: share.reason,
    explanation: REASONS[share.reason],
    taken_back: share.takenBack,
    released_at: share.releasedAt === null ? null : toUnixSeconds(share.releasedAt),
    note: share.note,
  };
}

function earningObject(line: EarningLine): z.input<typeof Earning> {
  return {
    request_id: publicId("req", line.id),
    node: line.nodeId === null ? null : publicId("node", line.nodeId),
    model: line.model,
    finished_at: toUnixSeconds(line.finishedAt),
    prompt_tokens: line.promptTokens,
    completion_tokens: line.completionTokens,
    outcome: line.outcome,
    earned_micro: formatExactMicrodollars(line.earned),
    own: line.own,
  };
}
