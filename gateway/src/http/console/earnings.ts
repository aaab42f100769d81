/** A host's earnings for charts, and the signed receipts of the requests that earned. */
import { z } from "zod";
import { parseId, publicId, type Uuid } from "../../base/ids.ts";
import { exactMicro } from "../../base/money.ts";
import { fault, invalidRequest } from "../../faults.ts";
import { EARNINGS_BY, EARNINGS_SPLIT, type EarningSumRow, type EarningSums } from "../../history/earning-sums.ts";
import { parseFields } from "../fields.ts";
import { SpanFields } from "../lists/pages.ts";
import type { ConsoleRoute, Guards } from "./guards.ts";
import { seconds } from "./keys.ts";

export interface EarningRoutesOptions {
  sums: EarningSums;
  receiptOfHost: (hostAccountId: Uuid, requestId: Uuid) => Promise<object | undefined>;
  /** Unix milliseconds. */
  now: () => number;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const DAYS_DEFAULT = 30;
const HOURLY_DAYS_MAX = 31;
export const EarningSumsFields = z.object({
  ...SpanFields,
  node: z.string().optional(),
  by: z.enum(EARNINGS_BY, `must be one of ${EARNINGS_BY.join(", ")}`).default("day"),
  split: z.enum(EARNINGS_SPLIT, "must be node or model").optional(),
});
type Fields = z.infer<typeof EarningSumsFields>;

export function earningRoutes(route: ConsoleRoute, guards: Guards, options: EarningRoutesOptions): void {
  const { sums, receiptOfHost, now } = options;

  route("GET", "/console/api/earnings/sums", guards.host, async ({ account, query, json }) => {
    const fields = parseFields(EarningSumsFields, Object.fromEntries(query));
    const { by, split, to = new Date(now()), from = new Date(to.getTime() - DAYS_DEFAULT * DAY_MS), node } = fields;
    if (to < from) throw invalidRequest("to", "to must not be before from");
    if (by === "hour" && to.getTime() - from.getTime() > HOURLY_DAYS_MAX * DAY_MS) {
      throw invalidRequest("from", "from must be at most 31 days before to where the sums are by hour");
    }
    const nodeId = node === undefined ? undefined : parseId("node", node);
    if (node !== undefined && nodeId === undefined) throw invalidRequest("node", "node must be a node's id (node_…)");
    const data = (await sums(account.id, { by, split, from, to, nodeId })).map((row) => sumObject(row, fields));
    json({ object: "list", by, from: seconds(from), to: seconds(to), data, next_cursor: null });
  });

  route("GET", "/console/api/earnings/:id/receipt", guards.host, async ({ account, params, json }) => {
    const id = parseId("req", params.id ?? "");
    const receipt = id === undefined ? undefined : await receiptOfHost(account.id, id);
    if (receipt === undefined) throw fault("not_found");
    json(receipt);
  });
}

function sumObject(row: EarningSumRow, { by, split }: Fields): object {
  const { bucket, part, requests, promptTokens, completionTokens, earned } = row;
  return {
    [by]: bucket,
    ...(split !== undefined && { [split]: split === "node" ? publicId("node", part as Uuid) : part }),
    requests,
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    earned_micro: exactMicro(earned),
  };
}
