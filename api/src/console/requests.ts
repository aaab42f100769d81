/** A builder's request history. */
import { z } from "zod";
import { codes, NO_SUCH_REQUEST } from "../faults.ts";
import { PageFields, SpanFields } from "../lists.ts";
import { Receipt } from "../nodes/answers.ts";
import { sampleReceipt } from "../nodes/samples.ts";
import { routes } from "../route.ts";
import { ENDPOINTS, FINISH_REASONS, UNFUNDED_REASONS } from "../states.ts";
import {
  Count,
  Id,
  listOf,
  Milliseconds,
  Money,
  RequestOutcome,
  SAMPLE_TIME,
  sampleId,
  sampleList,
  Time,
} from "../values.ts";
import { KeyOrPlayground } from "./playground.ts";

export const REQUEST_SORTS = ["newest", "oldest", "cost", "duration"] as const;

const RequestsFilter = z.object({
  ...SpanFields,
  model: z.string().optional(),
  key: KeyOrPlayground.optional(),
  outcome: z.string().optional(),
  label: z.string().min(1, "must be a label").max(64, "must be at most 64 characters long").optional(),
});
export const RequestsQuery = RequestsFilter.extend({
  ...PageFields,
  sort: z.enum(REQUEST_SORTS, `must be one of ${REQUEST_SORTS.join(", ")}`).default("newest"),
});
const UnfundedQuery = z.object(SpanFields);

export const Request = z
  .strictObject({
    id: Id("req").describe("Ends in the same 26 characters as the answer's id."),
    object: z.literal("request"),
    created_at: Time,
    finished_at: Time,
    key: z.strictObject({ id: Id("key"), name: z.string().describe("The key's name when the request was made.") }),
    endpoint: z.enum(ENDPOINTS),
    model: z.string().nullable().describe("null: refused before it was known."),
    build: z.string().nullable(),
    tokenizer: z.string().nullable(),
    stream: z.boolean().nullable().describe("null: refused before it was known."),
    outcome: RequestOutcome,
    http_status: z.int().describe("499: the client went away."),
    finish_reason: z.enum(FINISH_REASONS).nullable(),
    usage: z
      .strictObject({
        prompt_tokens: Count,
        completion_tokens: Count.describe("Includes the reasoning tokens."),
        reasoning_tokens: Count,
      })
      .describe("As the gateway counted."),
    hold_micro: Money.describe("Reserved before it began."),
    charge_micro: Money.describe("Charged when it ended."),
    refund_micro: Money.describe("What of the reservation came back."),
    price_version: z.int().nullable(),
    attempts: Count.describe("How many nodes it was given to."),
    queue_ms: Milliseconds.describe("Until a node took it."),
    ttft_ms: Milliseconds.describe("Until its first token."),
    duration_ms: Milliseconds,
    client: z.string().describe("The family of its user agent; empty where there was none."),
    label: z.string().nullable().describe("Your own word for it: `metadata.tag` or `user` of the request."),
    count: z
      .int()
      .min(1)
      .describe(
        "How many requests the record stands for: 1, but for refusals of a key beyond its first thousand of an hour. Those that agree in endpoint, model and outcome share a record, from `created_at` to `finished_at`.",
      ),
  })
  .describe("A request and what it cost. Prompts and outputs are never kept.");

const RequestList = listOf(Request, {
  kept_from: Time.nullable().describe(
    "Where the history begins: records of requests before it are kept no longer, and sums of them are. null: all are kept.",
  ),
});

const RequestTotals = z
  .strictObject({
    object: z.literal("request_totals"),
    requests: Count,
    prompt_tokens: Count,
    completion_tokens: Count,
    charge_micro: Money,
  })
  .describe("What all requests that the filters let through add up to, to the last one.");

const Unfunded = z.strictObject({
  key: Id("key"),
  reason: z
    .enum(UNFUNDED_REASONS)
    .describe(
      "`no_credit`: there was none at all; `hold`: less than the request could have cost; `budget_day`, `budget_month`: less was left of the key's budget.",
    ),
  requests: Count,
});

const UnfundedList = listOf(Unfunded, { from: Time, to: Time });

export const answers = {
  Request,
  RequestList,
  RequestTotals,
  Unfunded,
  UnfundedList,
  RequestOutcome,
  Receipt,
};

const sampleRequest = {
  id: sampleId("req"),
  object: "request",
  created_at: SAMPLE_TIME,
  finished_at: SAMPLE_TIME + 2,
  key: { id: sampleId("key"), name: "production" },
  endpoint: "chat",
  model: "small-8b",
  build: "small-8b-q4-1",
  tokenizer: "llama3",
  stream: true,
  outcome: "ok",
  http_status: 200,
  finish_reason: "stop",
  usage: { prompt_tokens: 14, completion_tokens: 9, reasoning_tokens: 0 },
  hold_micro: "4.900000",
  charge_micro: "1.050000",
  refund_micro: "3.850000",
  price_version: 1,
  attempts: 1,
  queue_ms: 2,
  ttft_ms: 180,
  duration_ms: 1240,
  client: "openai-js",
  label: "nightly-summaries",
  count: 1,
};

const CSV_COLUMNS =
  "id,created_at,finished_at,key,endpoint,model,stream,outcome,http_status,finish_reason,prompt_tokens,completion_tokens,reasoning_tokens,hold_micro,charge_micro,duration_ms,ttft_ms,client,count,label";

const REQUEST_PATH = { id: "The request's id, `req_…`, or its answer's: `chatcmpl-…`, `cmpl-…`." };
const FILTER_WORDS = {
  model: "Only requests for this model.",
  key: "Only requests with this key, `key_…`; `playground`: those of the console's playground.",
  outcome: "Only requests that ended like this, such as `ok`; 422 `unknown_outcome` for one that there is not.",
  label: "Only requests with this label.",
};
const SPAN_WORDS = {
  from: "The first hour: `2026-11-15`, `2026-11-15T06:30:00Z` or Unix seconds. By default the first of the month that `to` lies in.",
  to: "Where it ends, written like `from`. By default now.",
};

export const requestRoutes = routes({
  listRequests: {
    at: "GET /console/api/requests",
    summary: "List requests",
    description:
      "Filters narrow each other. By cost or duration, what cost or took most comes first; that takes a `from` at most 31 days before `to`, and a span with at most 200,000 requests. The platform may keep records for a limited time: `kept_from` says from when on there are any.",
    guard: "builder",
    query: RequestsQuery,
    words: { ...FILTER_WORDS, sort: "In which order: `newest` first, `oldest` first, by `cost` or by `duration`." },
    answer: {
      description: "A page of the history.",
      json: RequestList,
      example: { ...sampleList(sampleRequest), kept_from: null },
    },
    faults: codes("invalid_cursor", "unknown_model", "unknown_outcome"),
  },
  exportRequests: {
    at: "GET /console/api/requests.csv",
    summary: "Export requests",
    description: "Everything that the filters let through, the newest first, in one file.",
    guard: "builder",
    query: RequestsFilter,
    words: FILTER_WORDS,
    answer: {
      description: "The file.",
      csv: {
        description: "One line per request under a line of column names, separated by commas.",
        example: `${CSV_COLUMNS}\r\n`,
      },
      headers: ["content-disposition"],
    },
    faults: codes("unknown_model", "unknown_outcome"),
  },
  getRequestTotals: {
    at: "GET /console/api/requests/totals",
    summary: "Sum up requests",
    description:
      "All that the filters let through, not only a page of it. Of requests whose records are kept no longer, whole hours count, or whole days of a label, and none where a label stands beside another filter. A label together with another filter takes a span in which at most 200,000 requests have that label.",
    guard: "builder",
    query: RequestsFilter,
    words: FILTER_WORDS,
    answer: {
      description: "The sums.",
      json: RequestTotals,
      example: {
        object: "request_totals",
        requests: 1204,
        prompt_tokens: 88_102,
        completion_tokens: 41_377,
        charge_micro: "5539.450000",
      },
    },
    faults: codes("unknown_model", "unknown_outcome"),
  },
  listUnfunded: {
    at: "GET /console/api/unfunded",
    summary: "Count requests refused for want of credit",
    description:
      "They are refused with 402 before anything is done, and leave no record. Counts are of whole hours, a few seconds late, and of at most 400 days.",
    guard: "builder",
    query: UnfundedQuery,
    words: SPAN_WORDS,
    answer: {
      description: "The counts by key and reason.",
      json: UnfundedList,
      example: {
        ...sampleList({ key: sampleId("key"), reason: "no_credit", requests: 12 }),
        from: SAMPLE_TIME,
        to: SAMPLE_TIME + 86_400,
      },
    },
  },
  getRequest: {
    at: "GET /console/api/requests/{id}",
    summary: "Read a request",
    guard: "builder",
    path: REQUEST_PATH,
    answer: { description: "The request.", json: Request, example: sampleRequest },
    faults: [NO_SUCH_REQUEST],
  },
  getReceipt: {
    at: "GET /console/api/requests/{id}/receipt",
    summary: "Get the signed receipt of a request",
    description: "The keys to check it with are at /.well-known/tollgate-receipts.",
    guard: "builder",
    path: REQUEST_PATH,
    answer: { description: "The receipt.", json: Receipt, example: sampleReceipt },
    faults: [NO_SUCH_REQUEST],
  },
});
