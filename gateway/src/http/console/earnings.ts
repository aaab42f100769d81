/** What a host earned: request by request with the signed receipts, in sums, and all of it as CSV. */
import { z } from "zod";
import { parseId, publicId, type Uuid } from "../../base/ids.ts";
import { exactMicro } from "../../base/money.ts";
import { fault, invalidRequest } from "../../faults.ts";
import { EARNINGS_BY, EARNINGS_SPLIT, type EarningHourlySum, type EarningLine } from "../../history/earnings.ts";
import { parseFields } from "../fields.ts";
import { SpanFields } from "../lists/pages.ts";
import { EarningsQuery, earningsList, NodeField, type NodeWork } from "../nodes/work.ts";
import { type Columns, sendCsv } from "./csv.ts";
import type { ConsoleRoute, Guards } from "./guards.ts";
import { seconds } from "./keys.ts";
import { bounded } from "./money.ts";

export interface EarningRoutesOptions {
  work: NodeWork;
  receiptOfHost: (hostAccountId: Uuid, requestId: Uuid) => Promise<object | undefined>;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const DAYS_DEFAULT = 30;
const HOURLY_DAYS_MAX = 31;
export const EarningSumsFields = z.object({
  ...SpanFields,
  node: NodeField.optional(),
  by: z.enum(EARNINGS_BY, `must be one of ${EARNINGS_BY.join(", ")}`).default("day"),
  split: z.enum(EARNINGS_SPLIT, "must be node or model").optional(),
});
type SumsFields = z.infer<typeof EarningSumsFields>;

export function earningRoutes(
  route: ConsoleRoute,
  guards: Guards,
  { work, receiptOfHost }: EarningRoutesOptions,
): void {
  route("GET", "/console/api/earnings", guards.host, async ({ account, query, json }) =>
    json(await earningsList(work, account.id, query)),
  );
  route("GET", "/console/api/earnings.csv", guards.host, async ({ account, query, ...visit }) => {
    const { from, to, node: nodeId } = parseFields(EarningsQuery, Object.fromEntries(query));
    await sendCsv(visit, {
      name: "earnings.csv",
      columns: CSV_COLUMNS,
      read: (last, limit) => work.earnings.lines(account.id, { nodeId, from, to, before: last?.id, limit }),
    });
  });
  route("GET", "/console/api/earnings/sums", guards.host, async ({ account, query, json }) => {
    const fields = parseFields(EarningSumsFields, Object.fromEntries(query));
    const { by, split, to = new Date(work.now()), node: nodeId } = fields;
    const { from = new Date(to.getTime() - DAYS_DEFAULT * DAY_MS) } = fields;
    if (to < from) throw invalidRequest("to", "to must not be before from");
    if (split === by) throw invalidRequest("split", "split must be another than by");
    if (by === "hour" && to.getTime() - from.getTime() > HOURLY_DAYS_MAX * DAY_MS) {
      throw invalidRequest("from", "from must be at most 31 days before to where the sums are by hour");
    }
    const data = bounded(await work.earnings.sums(account.id, { by, split, from, to, nodeId }));
    const shown = data.map((row) => sumObject(row, fields));
    json({ object: "list", by, from: seconds(from), to: seconds(to), data: shown, next_cursor: null });
  });
  route("GET", "/console/api/earnings/:id/receipt", guards.host, async ({ account, params, json }) => {
    const id = parseId("req", params.id ?? "");
    const receipt = id === undefined ? undefined : await receiptOfHost(account.id, id);
    if (receipt === undefined) throw fault("not_found");
    json(receipt);
  });
}

function sumObject({ bucket, part, amount, own, ...counts }: EarningHourlySum, { by, split }: SumsFields): object {
  const shown = (of: string, value: string | null) => (of === "node" ? publicId("node", value as Uuid) : value);
  return {
    [by]: shown(by, bucket),
    ...(split !== undefined && { [split]: shown(split, part) }),
    requests: counts.requests,
    prompt_tokens: counts.promptTokens,
    completion_tokens: counts.completionTokens,
    earned_micro: exactMicro(amount),
    own_micro: exactMicro(own),
  };
}

const CSV_COLUMNS: Columns<EarningLine> = {
  request_id: ({ id }) => publicId("req", id),
  finished_at: ({ finishedAt }) => finishedAt.toISOString(),
  node: ({ nodeId }) => nodeId && publicId("node", nodeId),
  model: ({ model }) => model,
  outcome: ({ outcome }) => outcome,
  prompt_tokens: ({ promptTokens }) => promptTokens,
  completion_tokens: ({ completionTokens }) => completionTokens,
  earned_micro: ({ earned }) => exactMicro(earned),
  own: ({ own }) => String(own),
};
