/** A host's earnings: by request with signed receipts, as sums, and as a CSV file. */
import type { EarningSumsFields, earningRoutes } from "@tollgate/api/console/earnings.ts";
import type { z } from "zod";
import type { Columns } from "../../base/csv.ts";
import { parseId, publicId, type Uuid } from "../../base/ids.ts";
import { formatExactMicrodollars } from "../../base/money.ts";
import { DAY_MS, toUnixSeconds } from "../../base/time.ts";
import { ruleViolation } from "../../faults.ts";
import type { EarningHourlySum, EarningLine } from "../../history/earnings.ts";
import type { HistoryServices } from "../../history/services.ts";
import { requestNotFound } from "../../http/lists/no-such-request.ts";
import type { Handlers } from "../../http/routes.ts";
import {
  type EarningsDependencies,
  nodeIdOfFilter,
  readEarningsPage,
  readWithheldEarningsPage,
} from "../nodes/earnings.ts";
import { csvFile } from "./csv.ts";
import { refuseTooManySums } from "./money.ts";

const DAYS_DEFAULT = 30;
const HOURLY_DAYS_MAX = 31;
type SumsFields = z.output<typeof EarningSumsFields>;

export function earningHandlers(
  parts: EarningsDependencies & Pick<HistoryServices, "history" | "receipts">,
): Handlers<typeof earningRoutes> {
  const { earnings, history, receipts, now } = parts;
  return {
    listEarnings: ({ account, query }) => readEarningsPage(parts, account.id, query),

    listWithheld: ({ account, query }) => readWithheldEarningsPage(parts, account.id, query),

    async exportEarnings({ account, query }) {
      const span = { from: query.from, to: query.to, nodeId: nodeIdOfFilter(query) };
      return csvFile({
        name: "earnings.csv",
        columns: CSV_COLUMNS,
        read: (last, limit) => earnings.lines(account.id, { ...span, before: last?.id, limit }),
      });
    },

    async sumEarnings({ account, query }) {
      const { by, split, to = new Date(now()) } = query;
      const { from = new Date(to.getTime() - DAYS_DEFAULT * DAY_MS) } = query;
      if (to < from) throw ruleViolation("to", 'must not be before "from"');
      if (split === by) throw ruleViolation("split", 'must not have the same value as "by"');
      if (by === "hour" && to.getTime() - from.getTime() > HOURLY_DAYS_MAX * DAY_MS) {
        throw ruleViolation("from", `must be at most ${HOURLY_DAYS_MAX} days before "to" when "by" is "hour"`);
      }
      const data = refuseTooManySums(
        await earnings.sums(account.id, { by, split, from, to, nodeId: nodeIdOfFilter(query) }),
      );
      const shown = data.map((row) => sumObject(row, query));
      return { object: "list", by, from: toUnixSeconds(from), to: toUnixSeconds(to), data: shown, next_cursor: null };
    },

    async getEarningReceipt({ account, params, refuse }) {
      const id = parseId("req", params.id);
      const record = id === undefined ? undefined : await history.findServed(account.id, id);
      if (record === undefined) throw await requestNotFound(history, id, refuse);
      return receipts.of(record);
    },
  };
}

function sumObject({ bucket, part, amount, own, ...counts }: EarningHourlySum, { by, split }: SumsFields) {
  const shown = (of: string, value: string | null) => (of === "node" ? publicId("node", value as Uuid) : value);
  return {
    [by]: shown(by, bucket),
    ...(split !== undefined && { [split]: shown(split, part) }),
    requests: counts.requests,
    prompt_tokens: counts.promptTokens,
    completion_tokens: counts.completionTokens,
    earned_micro: formatExactMicrodollars(amount),
    own_micro: formatExactMicrodollars(own),
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
  earned_micro: ({ earned }) => formatExactMicrodollars(earned),
  own: ({ own }) => String(own),
};
