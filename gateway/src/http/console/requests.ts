/** A builder's request history: pages with filters, one record, all of it as CSV, and signed receipts. */
import { once } from "node:events";
import { z } from "zod";
import { parseId, publicId, type Uuid } from "../../base/ids.ts";
import { exactMicro, pico } from "../../base/money.ts";
import { fault, invalidRequest } from "../../faults.ts";
import type { Filter, History, RequestRecord } from "../../history/history.ts";
import type { Catalogue } from "../../metering/catalogue.ts";
import { parseFields } from "../fields.ts";
import type { Cursors } from "../lists/cursors.ts";
import { PageFields, page, SpanFields } from "../lists/pages.ts";
import { isPlain, PLAIN_RULE } from "../plain-text.ts";
import { csvCell } from "./csv.ts";
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
  outcome: z.string().refine(isPlain, PLAIN_RULE).optional(),
};
export const Query = z.object({ ...PageFields, ...FilterFields });
const CSV_PAGE = 1000;

export function requestRoutes(route: ConsoleRoute, guards: Guards, options: RequestRoutesOptions): void {
  const { history, cursors } = options;
  const filterOf = (fields: z.infer<typeof Query>): Filter => {
    const { model, key, outcome, from, to } = fields;
    if (model !== undefined && !options.catalogue().entries.some(({ id }) => id === model))
      throw fault("unknown_model");
    const keyId = key === undefined ? undefined : parseId("key", key);
    if (key !== undefined && keyId === undefined) throw invalidRequest("key", "key must be a key's id (key_…)");
    return { model, keyId, outcome, from, to };
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
  route("GET", "/console/api/requests.csv", guards.builder, async ({ account, query, call, response }) => {
    const filter = filterOf(parseFields(Query, Object.fromEntries(query)));
    response.writeHead(200, {
      "content-type": "text/csv; charset=utf-8",
      "content-disposition": 'attachment; filename="requests.csv"',
    });
    response.write(`${Object.keys(csvRow(undefined)).join(",")}\r\n`);
    for (let before: Uuid | undefined; !call.gone.aborted; ) {
      const records = await history.list(account.id, { ...filter, before, limit: CSV_PAGE });
      const text = records.map((record) => Object.values(csvRow(record)).map(csvCell).join(","));
      // A slow reader holds the reading of pages back, so the export never lies in memory.
      if (text.length > 0 && !response.write(`${text.join("\r\n")}\r\n`)) {
        await once(response, "drain", { signal: call.gone }).catch(leftMeanwhile);
      }
      if (records.length < CSV_PAGE) break;
      before = records.at(-1)?.id;
    }
    response.end();
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

/** The reader went away while the export waited for it: the loop ends by itself. */
function leftMeanwhile(error: Error): void {
  if (error.name !== "AbortError") throw error;
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
  };
}

function csvRow(record: RequestRecord | undefined): Record<string, string | number | null | undefined> {
  return {
    id: record && publicId("req", record.id),
    created_at: record?.createdAt.toISOString(),
    finished_at: record?.finishedAt.toISOString(),
    key: record?.keyName,
    endpoint: record?.endpoint,
    model: record?.model,
    stream: record && String(record.stream),
    outcome: record?.outcome,
    http_status: record?.httpStatus,
    finish_reason: record?.finishReason,
    prompt_tokens: record?.promptTokens,
    completion_tokens: record?.completionTokens,
    reasoning_tokens: record?.reasoningTokens,
    hold_micro: record && exactMicro(record.hold),
    charge_micro: record && exactMicro(record.charge),
    duration_ms: record?.durationMs,
    ttft_ms: record?.ttftMs,
    client: record?.client,
  };
}
