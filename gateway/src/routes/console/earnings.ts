/** A host's earnings: by request with signed receipts, as sums, and as a CSV file. */
import type { EarningSumsFields, earningRoutes } from "@tollgate/api/console/earnings.ts";
import type { z } from "zod";
import type { CsvColumns } from "../../base/csv.ts";
import { parseId, publicId, type Uuid } from "../../base/ids.ts";
import { formatExactMicrodollars, ZERO } from "../../base/money.ts";
import { DAY_MS, toUnixSeconds } from "../../base/time.ts";
import { ruleViolation } from "../../faults.ts";
import type { EarningHourlySum, EarningLine } from "../../history/earnings.ts";
import type { HistoryServices } from "../../history/services.ts";
import { createRequestNotFoundFault } from "../../http/lists/no-such-request.ts";
import type { Handlers } from "../../http/serve-routes.ts";
import type { WithheldShare } from "../../ledger/withheld-shares-reserve.ts";
import {
  type EarningsDependencies,
  parseNodeFilter,
  readEarningsPage,
  readWithheldEarningsPage,
} from "../nodes/earnings.ts";
import { refuseTooManyHourlySums } from "./balance-and-usage.ts";
import { createCsvFile } from "./csv-file.ts";

const DAYS_DEFAULT = 30;
const HOURLY_DAYS_MAX = 31;
type SumsFields = z.output<typeof EarningSumsFields>;

export function earningHandlers(
  parts: EarningsDependencies & Pick<HistoryServices, "history" | "receipts">,
): Handlers<typeof earningRoutes> {
  const { earnings, history, receipts, reserve, now } = parts;
  return {
    listEarnings: ({ account, query }) => readEarningsPage(parts, account.id, query),

    listWithheld: ({ account, query }) => readWithheldEarningsPage(parts, account.id, query),

    async exportEarnings({ account, query }) {
      const span = { from: query.from, to: query.to, nodeId: parseNodeFilter(query) };
      return createCsvFile({
        name: "earnings.csv",
        columns: CSV_COLUMNS,
        async read(last, limit) {
          const page = { ...span, before: last?.id, limit };
          const [paid, withheld] = await Promise.all([
            earnings.lines(account.id, page),
            reserve.list({ hostId: account.id, ...page }),
          ]);
          return joinByRequest(paid, withheld).slice(0, limit);
        },
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
      const data = refuseTooManyHourlySums(
        await earnings.sums(account.id, { by, split, from, to, nodeId: parseNodeFilter(query) }),
      );
      const shown = data.map((row) => sumObject(row, query));
      return { object: "list", by, from: toUnixSeconds(from), to: toUnixSeconds(to), data: shown, next_cursor: null };
    },

    async getEarningReceipt({ account, params, refuse }) {
      const id = parseId("req", params.id);
      const record = id === undefined ? undefined : await history.findServed(account.id, id);
      if (record === undefined) throw await createRequestNotFoundFault(history, id, refuse);
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

/** A request whose share was paid, withheld, or paid and taken back later. */
interface EarningRow {
  id: Uuid;
  paid: EarningLine | undefined;
  withheld: WithheldShare | undefined;
}

/** One row for each request, newest first. */
function joinByRequest(paid: EarningLine[], withheld: WithheldShare[]): EarningRow[] {
  const rows = new Map<Uuid, EarningRow>(
    paid.map((line) => [line.id, { id: line.id, paid: line, withheld: undefined }]),
  );
  for (const share of withheld)
    rows.set(share.requestId, { id: share.requestId, paid: rows.get(share.requestId)?.paid, withheld: share });
  return [...rows.values()].sort((a, b) => (a.id < b.id ? 1 : -1));
}

const amountIf = (isDue: boolean | undefined, { withheld }: EarningRow): string =>
  formatExactMicrodollars(isDue === true && withheld !== undefined ? withheld.amount : ZERO);

/** What the host got for a request is what it earned, less the part taken back, plus the part released. */
const CSV_COLUMNS: CsvColumns<EarningRow> = {
  request_id: ({ id }) => publicId("req", id),
  finished_at: ({ paid, withheld }) => (paid?.finishedAt ?? withheld?.at)?.toISOString(),
  node: ({ paid, withheld }) => {
    const nodeId = paid?.nodeId ?? withheld?.nodeId;
    return nodeId && publicId("node", nodeId);
  },
  model: ({ paid, withheld }) => paid?.model ?? withheld?.model,
  outcome: ({ paid, withheld }) => paid?.outcome ?? withheld?.outcome,
  prompt_tokens: ({ paid }) => paid?.promptTokens,
  completion_tokens: ({ paid }) => paid?.completionTokens,
  earned_micro: ({ paid }) => formatExactMicrodollars(paid?.earned ?? ZERO),
  own: ({ paid }) => paid?.own,
  withheld_micro: (row) => amountIf(true, row),
  withheld_reason: ({ withheld }) => withheld?.reason,
  taken_back_micro: (row) => amountIf(row.withheld?.takenBack, row),
  released_micro: (row) => amountIf(row.withheld?.releasedAt != null, row),
  released_at: ({ withheld }) => withheld?.releasedAt?.toISOString(),
};
