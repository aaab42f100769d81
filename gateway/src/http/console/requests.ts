/** A builder's request history: pages with filters, one record, all of it as CSV, and signed receipts. */
import { z } from "zod";
import { parseId, publicId, type Uuid } from "../../base/ids.ts";
import { exactMicro, pico } from "../../base/money.ts";
import { fault, invalidRequest } from "../../faults.ts";
import type { Filter, History, RequestRecord } from "../../history/history.ts";
import type { Catalogue } from "../../metering/catalogue.ts";
import { parseFields } from "../fields.ts";
import type { Cursors } from "../lists/cursors.ts";
import { PageFields, page, SpanFields } from "../lists/pages.ts";
import { RequestOutcome } from "../reference/values.ts";
import { type Columns, sendCsv } from "./csv.ts";
import type { ConsoleRoute, Guards } from "./guards.ts";
import { seconds } from "./keys.ts";

export interface RequestRoutesOptions {
  history: History;
  catalogue: () => Catalogue;
  cursors: Cursors;
  receiptOfBuilder: (accountId: Uuid, requestId: Uuid) => Promise<object | undefined>;
}

const FilterFields = {
  ...SpanFields,
  model: z.string().optional(),
  key: z.string().optional(),
  outcome: z.string().optional(),
};
export const Query = z.object({ ...PageFields, ...FilterFields });

export function requestRoutes(route: ConsoleRoute, guards: Guards, options: RequestRoutesOptions): void {
  const { history, cursors } = options;
  const filterOf = (fields: z.infer<typeof Query>): Filter => {
    const { model, key, outcome, from, to } = fields;
    if (model !== undefined && !options.catalogue().entries.some(({ id }) => id === model))
      throw fault("unknown_model");
    const ended = RequestOutcome.optional().safeParse(outcome);
    if (!ended.success) throw fault("unknown_outcome");
    const keyId = key === undefined ? undefined : parseId("key", key);
    if (key !== undefined && keyId === undefined) throw invalidRequest("key", "key must be a key's id (key_…)");
    return { model, keyId, outcome: ended.data, from, to };
  };
  const find = async (accountId: Uuid, text: string | undefined): Promise<RequestRecord> => {
    const id = parseId("req", text ?? "");
    const record = id === undefined ? undefined : await history.find(accountId, id);
    if (record === undefined) throw fault("not_found");
    return record;
  };

  route("GET", "/console/api/requests", guards.builder, async ({ account, query, json }) => {
    const fields = parseFields(Query, Object.fromEntries(query));
    const filter = filterOf(fields);
    const { cursor, limit } = fields;
    json(
      await page({
        cursors,
        list: `requests ${account.id}`,
        cursor,
        limit,
        read: (before, max) => history.list(account.id, { ...filter, before: before as Uuid | undefined, limit: max }),
        position: ({ id }) => id,
        show: requestObject,
      }),
    );
  });
  route("GET", "/console/api/requests.csv", guards.builder, async ({ account, query, ...visit }) => {
    const filter = filterOf(parseFields(Query, Object.fromEntries(query)));
    await sendCsv(visit, {
      name: "requests.csv",
      columns: CSV_COLUMNS,
      read: (last, limit) => history.list(account.id, { ...filter, before: last?.id, limit }),
    });
  });
  route("GET", "/console/api/requests/:id", guards.builder, async ({ account, params, json }) =>
    json(requestObject(await find(account.id, params.id))),
  );
  route("GET", "/console/api/requests/:id/receipt", guards.builder, async ({ account, params, json }) => {
    const { id } = await find(account.id, params.id);
    const receipt = await options.receiptOfBuilder(account.id, id);
    if (receipt === undefined) throw fault("not_found");
    json(receipt);
  });
}

/** As a builder sees it: which node served stays the platform's business. */
function requestObject(record: RequestRecord): object {
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
