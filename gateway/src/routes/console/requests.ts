/** A builder's request history: filtered pages, single records, CSV export, and signed receipts. */
import type { Request, requestRoutes } from "@tollgate/api/console/requests.ts";
import type { z } from "zod";
import type { CsvColumns } from "../../base/csv.ts";
import { creationTimeMsOf, parseId, publicId, type Uuid } from "../../base/ids.ts";
import { formatExactMicrodollars, pico } from "../../base/money.ts";
import { DAY_MS, startOfMonth, toUnixSeconds } from "../../base/time.ts";
import { ruleViolation } from "../../faults.ts";
import type { StoredAttempt } from "../../history/request-attempts.ts";
import { needsRecordSearch } from "../../history/request-filter.ts";
import type { RequestRecord } from "../../history/request-history.ts";
import type { HistoryServices } from "../../history/services.ts";
import { listPage } from "../../http/lists/list-pages.ts";
import { createRequestNotFoundFault } from "../../http/lists/no-such-request.ts";
import type { HandlerInput, Handlers } from "../../http/serve-routes.ts";
import type { InferenceServices } from "../../inference/services.ts";
import type { KeyServices } from "../../keys/services.ts";
import type { SiteServices } from "../services.ts";
import { createCsvFile } from "./csv-file.ts";
import { makeTooManyRecordsFault, parseRequestFilter, RECORDS_READ_MAX } from "./request-filter.ts";

const UNFUNDED_DAYS_MAX = 400;
/** The prefix of an answer's ID. The rest is also the end of its request's ID. */
export const ANSWER_ID_PREFIX = /^(chatcmpl|cmpl)-/;

export function requestHandlers(
  parts: Pick<HistoryServices, "history" | "receipts" | "unfunded" | "requestAttempts"> &
    Pick<InferenceServices, "catalogue"> &
    Pick<SiteServices, "cursors" | "now"> &
    Pick<KeyServices, "sessionKeys">,
): Handlers<typeof requestRoutes> {
  const { history, cursors, receipts, unfunded, requestAttempts, now } = parts;
  const { filterOf, sortable, countable } = parseRequestFilter(parts);
  const find = async (
    accountId: Uuid,
    text: string,
    refuse: HandlerInput<typeof requestRoutes.getRequest>["refuse"],
  ): Promise<RequestRecord> => {
    const id = parseId("req", text.replace(ANSWER_ID_PREFIX, "req_"));
    const record = id === undefined ? undefined : await history.find(accountId, id);
    if (record === undefined) throw await createRequestNotFoundFault(history, id, refuse);
    return record;
  };
  const withKept = async <Page extends object>(read: Promise<Page>) => {
    const [list, from] = await Promise.all([read, history.keptFrom()]);
    return { ...list, kept_from: from && toUnixSeconds(from) };
  };
  return {
    async listRequests({ account, query, refuse }) {
      const filter = await filterOf(account.id, query, refuse);
      const { sort } = query;
      const list = `requests ${account.id}`;
      if (sort === "newest" || sort === "oldest") {
        const oldestFirst = sort === "oldest";
        let reached: Uuid | undefined;
        const read = async (last: string | undefined, limit: number): Promise<RequestRecord[]> => {
          const asked = { ...filter, oldestFirst, before: last as Uuid | undefined, limit };
          if (!needsRecordSearch(filter)) return await history.list(account.id, asked);
          const found = await history.search(account.id, asked);
          reached = found.reached;
          return found.records;
        };
        const found = await withKept(
          listPage({
            cursors,
            list: oldestFirst ? `${list} oldest` : list,
            query,
            read,
            position: ({ id }) => id,
            show: requestObject,
            reached: () => reached,
          }),
        );
        return reached === undefined ? found : { ...found, searched_to: Math.floor(creationTimeMsOf(reached) / 1000) };
      }
      const how = await sortable(account.id, sort, filter);
      let reached: { size: bigint; id: Uuid } | undefined;
      const found = await withKept(
        listPage({
          cursors,
          list: `${list} ${sort}`,
          query,
          async read(last, limit) {
            const asked = { ...filter, after: sizeAndId(last), limit };
            if (how === "whole") return await history.largest(account.id, { ...asked, by: sort });
            const searched = await history.searchByCost(account.id, asked);
            reached = searched.reached;
            return searched.records;
          },
          position: (record) => `${SIZES[sort](record)} ${record.id}`,
          show: requestObject,
          reached: () => reached && `${reached.size} ${reached.id}`,
        }),
      );
      if (reached === undefined) return found;
      return { ...found, searched_to_charge_micro: formatExactMicrodollars(pico(reached.size)) };
    },

    async getRequestTotals({ account, query, refuse }) {
      const filter = await filterOf(account.id, query, refuse);
      await countable(account.id, filter);
      const { requests, promptTokens, completionTokens, charge } = await history.total(account.id, filter, now());
      return {
        object: "request_totals",
        requests,
        prompt_tokens: promptTokens,
        completion_tokens: completionTokens,
        charge_micro: formatExactMicrodollars(charge),
      };
    },

    async getRequestHistogram({ account, query, refuse }) {
      const filter = await filterOf(account.id, query, refuse);
      const counts = await history.counts(account.id, filter, { nowMs: now(), recordsMax: RECORDS_READ_MAX });
      if (counts.counts === undefined) throw makeTooManyRecordsFault("counted with these filters");
      return {
        object: "request_histogram",
        from: toUnixSeconds(counts.from),
        to: toUnixSeconds(counts.to),
        bucket_s: counts.bucketMs / 1000,
        data: counts.counts.map(({ at, outcome, requests }) => ({ at: toUnixSeconds(at), outcome, requests })),
      };
    },

    async listUnfunded({ account, query }) {
      const { to = new Date(now()), from = startOfMonth(to.getTime()) } = query;
      if (to < from) throw ruleViolation("to", 'must not be before "from"');
      if (to.getTime() - from.getTime() > UNFUNDED_DAYS_MAX * DAY_MS) {
        throw ruleViolation("from", `must be at most ${UNFUNDED_DAYS_MAX} days before "to"`);
      }
      const sums = await unfunded.sums(account.id, { from, to });
      const data = sums.map(({ keyId, reason, requests }) => ({ key: publicId("key", keyId), reason, requests }));
      return { object: "list", from: toUnixSeconds(from), to: toUnixSeconds(to), data, next_cursor: null };
    },

    async exportRequests({ account, query, refuse }) {
      const filter = await filterOf(account.id, query, refuse);
      return createCsvFile({
        name: "requests.csv",
        columns: CSV_COLUMNS,
        read: (last, limit) => history.list(account.id, { ...filter, before: last?.id, limit }),
      });
    },

    async getRequest({ account, params, refuse }) {
      const record = await find(account.id, params.id, refuse);
      const attempts = await requestAttempts.of(record.id);
      return { ...requestObject(record), attempt_list: attempts.map(attemptObject) };
    },

    async getReceipt({ account, params, refuse }) {
      return receipts.of(await find(account.id, params.id, refuse));
    },
  };
}

/** The values by which requests can be sorted, other than time. */
const SIZES = {
  cost: ({ charge }: RequestRecord) => charge,
  tokens: ({ promptTokens, completionTokens }: RequestRecord) => promptTokens + completionTokens,
  duration: ({ durationMs }: RequestRecord) => durationMs ?? -1,
};

/** Parses the cursor of a sorted page: the sort value and the ID of its last record. */
function sizeAndId(position: string | undefined): { size: bigint; id: Uuid } | undefined {
  if (position === undefined) return undefined;
  const [size = "", id = ""] = position.split(" ");
  return { size: BigInt(size), id: id as Uuid };
}

/** An attempt as the builder sees it, without the node. */
export const attemptObject = ({ end, offeredMs, acceptedMs, firstOutputMs, endedMs }: StoredAttempt) => ({
  outcome: end,
  offered_ms: offeredMs,
  accepted_ms: acceptedMs,
  first_token_ms: firstOutputMs,
  ended_ms: endedMs,
});

/** A request as its builder sees it, without the node. */
export function requestObject(record: RequestRecord): z.input<typeof Request> {
  return {
    id: publicId("req", record.id),
    object: "request",
    created_at: toUnixSeconds(record.createdAt),
    finished_at: toUnixSeconds(record.finishedAt),
    key: { id: publicId("key", record.keyId), name: record.keyName },
    endpoint: record.endpoint,
    model: record.model,
    build: record.build,
    tokenizer: record.tokenizer,
    stream: record.stream,
    outcome: record.outcome,
    http_status: record.httpStatus,
    finish_reason: record.finishReason,
    usage: {
      prompt_tokens: record.promptTokens,
      completion_tokens: record.completionTokens,
      reasoning_tokens: record.reasoningTokens,
    },
    hold_micro: formatExactMicrodollars(record.hold),
    charge_micro: formatExactMicrodollars(record.charge),
    refund_micro: formatExactMicrodollars(pico(record.hold - record.charge)),
    price_version: record.priceVersion,
    attempts: record.attempts,
    queue_ms: record.queueMs,
    ttft_ms: record.ttftMs,
    duration_ms: record.durationMs,
    client: record.client,
    label: record.label,
    count: record.count,
  };
}

const CSV_COLUMNS: CsvColumns<RequestRecord> = {
  id: ({ id }) => publicId("req", id),
  created_at: ({ createdAt }) => createdAt.toISOString(),
  finished_at: ({ finishedAt }) => finishedAt.toISOString(),
  key: ({ keyName }) => keyName,
  endpoint: ({ endpoint }) => endpoint,
  model: ({ model }) => model,
  stream: ({ stream }) => stream,
  outcome: ({ outcome }) => outcome,
  http_status: ({ httpStatus }) => httpStatus,
  finish_reason: ({ finishReason }) => finishReason,
  prompt_tokens: ({ promptTokens }) => promptTokens,
  completion_tokens: ({ completionTokens }) => completionTokens,
  reasoning_tokens: ({ reasoningTokens }) => reasoningTokens,
  hold_micro: ({ hold }) => formatExactMicrodollars(hold),
  charge_micro: ({ charge }) => formatExactMicrodollars(charge),
  duration_ms: ({ durationMs }) => durationMs,
  ttft_ms: ({ ttftMs }) => ttftMs,
  client: ({ client }) => client,
  count: ({ count }) => count,
  label: ({ label }) => label,
};
