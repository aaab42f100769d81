/** A builder's request history: pages with filters, one record, all of it as CSV, and signed receipts. */
import type { Request, RequestsQuery, requestRoutes } from "@tollgate/api/console/requests.ts";
import { RequestOutcome } from "@tollgate/api/values.ts";
import type { z } from "zod";
import { parseId, publicId, type Uuid } from "../../base/ids.ts";
import { exactMicro, pico } from "../../base/money.ts";
import { seconds } from "../../base/time.ts";
import { invalidRequest } from "../../faults.ts";
import type { Filter, RequestRecord } from "../../history/history.ts";
import { page } from "../lists/pages.ts";
import type { Parts } from "../parts.ts";
import type { Asked, Handlers } from "../routes.ts";
import { type Columns, csvFile } from "./csv.ts";

type Named = Omit<z.output<typeof RequestsQuery>, "cursor" | "limit">;

export function requestHandlers(
  parts: Pick<Parts, "history" | "catalogue" | "cursors" | "receipts">,
): Handlers<typeof requestRoutes> {
  const { history, catalogue, cursors, receipts } = parts;
  const filterOf = (
    { model, key, outcome, from, to }: Named,
    refuse: Asked<typeof requestRoutes.exportRequests>["refuse"],
  ): Filter => {
    if (model !== undefined && !catalogue().entries.some(({ id }) => id === model)) throw refuse("unknown_model");
    const known = RequestOutcome.safeParse(outcome);
    if (outcome !== undefined && !known.success) throw refuse("unknown_outcome");
    const keyId = key === undefined ? undefined : parseId("key", key);
    if (key !== undefined && keyId === undefined) throw invalidRequest("key", "key must be a key's id (key_…)");
    return { model, keyId, outcome: known.data, from, to };
  };
  const find = async (accountId: Uuid, text: string): Promise<RequestRecord | undefined> => {
    const id = parseId("req", text);
    return id === undefined ? undefined : await history.find(accountId, id);
  };
  return {
    async listRequests({ account, query, refuse }) {
      const filter = filterOf(query, refuse);
      return page({
        cursors,
        list: `requests ${account.id}`,
        query,
        read: (before, max) => history.list(account.id, { ...filter, before: before as Uuid | undefined, limit: max }),
        position: ({ id }) => id,
        show: requestObject,
      });
    },

    async exportRequests({ account, query, refuse }) {
      const filter = filterOf(query, refuse);
      return csvFile({
        name: "requests.csv",
        columns: CSV_COLUMNS,
        read: (last, limit) => history.list(account.id, { ...filter, before: last?.id, limit }),
      });
    },

    async getRequest({ account, params, refuse }) {
      const record = await find(account.id, params.id);
      if (record === undefined) throw refuse("not_found");
      return requestObject(record);
    },

    async getReceipt({ account, params, refuse }) {
      const record = await find(account.id, params.id);
      if (record === undefined) throw refuse("not_found");
      return receipts.of(record);
    },
  };
}

/** As a builder sees it: which node served stays the platform's business. */
function requestObject(record: RequestRecord): z.input<typeof Request> {
  return {
    id: publicId("req", record.id),
    object: "request",
    created_at: seconds(record.createdAt),
    finished_at: seconds(record.finishedAt),
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
    hold_micro: exactMicro(record.hold),
    charge_micro: exactMicro(record.charge),
    refund_micro: exactMicro(pico(record.hold - record.charge)),
    price_version: record.priceVersion,
    attempts: record.attempts,
    queue_ms: record.queueMs,
    ttft_ms: record.ttftMs,
    duration_ms: record.durationMs,
    client: record.client,
    count: record.count,
  };
}

const CSV_COLUMNS: Columns<RequestRecord> = {
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
  hold_micro: ({ hold }) => exactMicro(hold),
  charge_micro: ({ charge }) => exactMicro(charge),
  duration_ms: ({ durationMs }) => durationMs,
  ttft_ms: ({ ttftMs }) => ttftMs,
  client: ({ client }) => client,
  count: ({ count }) => count,
};
