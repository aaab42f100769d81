/** A builder's request history. */
import { z } from "zod";
import {
  AsOfField,
  Count,
  Id,
  Milliseconds,
  Money,
  MoneyField,
  makeListSchema,
  makeSampleId,
  RequestOutcome,
  SAMPLE_TIME,
  sampleList,
  Time,
} from "../common-schemas.ts";
import { ATTEMPT_ENDS, ENDPOINTS, FINISH_REASONS, INSUFFICIENT_CREDIT_REASONS } from "../enumerations.ts";
import { NO_SUCH_REQUEST, refusalsOfCodes } from "../faults.ts";
import { PageFields, TimeRangeFields } from "../list-query-fields.ts";
import { Receipt } from "../nodes/response-schemas.ts";
import { sampleReceipt } from "../nodes/sample-responses.ts";
import { declareRoutes } from "../route-declaration.ts";
import { KEY_OR_PLAYGROUND_RULE, KeyOrPlayground } from "./playground.ts";

export const REQUEST_SORT_ORDERS = ["newest", "oldest", "cost", "tokens", "duration"] as const;

const NAMES_MAX = 20;
const NAMES_RULE = `must be at most ${NAMES_MAX} names, separated by commas`;
const Names = z
  .string()
  .refine((text) => text.split(",").length <= NAMES_MAX, NAMES_RULE)
  .transform((text) => text.split(","));
const Keys = z
  .string()
  .refine((text) => text.split(",").every((key) => KeyOrPlayground.safeParse(key).success), KEY_OR_PLAYGROUND_RULE)
  .refine((text) => text.split(",").length <= NAMES_MAX, NAMES_RULE)
  .transform((text) => text.split(","));
const LabelField = z.string().min(1, "must not be empty").max(64, "must have at most 64 characters");
const WHOLE_RULE = "must be a whole number from 0 to 9999999999";
const Whole = z
  .string()
  .regex(/^\d{1,10}$/, WHOLE_RULE)
  .transform(Number);

const RequestsFilter = z.object({
  ...TimeRangeFields,
  model: Names.optional(),
  not_model: Names.optional(),
  key: Keys.optional(),
  not_key: Keys.optional(),
  outcome: Names.optional(),
  not_outcome: Names.optional(),
  label: LabelField.optional(),
  not_label: LabelField.optional(),
  charge_micro_min: MoneyField.optional(),
  charge_micro_max: MoneyField.optional(),
  tokens_min: Whole.optional(),
  tokens_max: Whole.optional(),
  ttft_ms_min: Whole.optional(),
  ttft_ms_max: Whole.optional(),
  duration_ms_min: Whole.optional(),
  duration_ms_max: Whole.optional(),
});
export const RequestsQuery = RequestsFilter.extend({
  ...PageFields,
  sort: z.enum(REQUEST_SORT_ORDERS, `must be one of ${REQUEST_SORT_ORDERS.join(", ")}`).default("newest"),
});
const UnfundedQuery = z.object(TimeRangeFields);

export const Request = z
  .strictObject({
    id: Id("req").describe("Ends in the same 26 characters as the ID in the response."),
    object: z.literal("request"),
    created_at: Time,
    finished_at: Time,
    key: z.strictObject({ id: Id("key"), name: z.string().describe("The key's name when the request was made.") }),
    endpoint: z.enum(ENDPOINTS),
    model: z.string().nullable().describe("null: refused before the model was known."),
    build: z.string().nullable(),
    tokenizer: z.string().nullable(),
    stream: z.boolean().nullable().describe("null: refused before this was known."),
    outcome: RequestOutcome,
    http_status: z.int().describe("499: the client cancelled the request."),
    finish_reason: z.enum(FINISH_REASONS).nullable(),
    usage: z
      .strictObject({
        prompt_tokens: Count,
        completion_tokens: Count.describe("Includes the reasoning tokens."),
        reasoning_tokens: Count,
      })
      .describe("As counted by the gateway."),
    hold_micro: Money.describe("The hold: credit reserved before the request started."),
    charge_micro: Money.describe("The charge when the request ended."),
    refund_micro: Money.describe("The part of the hold that was released."),
    price_version: z.int().nullable(),
    attempts: Count.describe("Number of nodes that were tried."),
    queue_ms: Milliseconds.describe("Time until a node accepted the request."),
    ttft_ms: Milliseconds.describe("Time to first token."),
    duration_ms: Milliseconds,
    client: z.string().describe("The client, derived from the user agent; empty if there was none."),
    label: z
      .string()
      .nullable()
      .describe("Your own label: `metadata.label` or `user` of the request, where the key's labels are on."),
    count: z
      .int()
      .min(1)
      .describe(
        "Number of requests that the record stands for. It is 1, except for rate-limited requests of a key beyond the first thousand in an hour: those with the same endpoint, model and outcome share one record, from `created_at` to `finished_at`.",
      ),
  })
  .describe("A request and its cost. Prompts and outputs are never stored.");

const MS_SINCE_DISPATCH = z.int().min(0);
export const RequestAttempt = z.strictObject({
  outcome: z
    .enum(ATTEMPT_ENDS)
    .describe(
      "`declined`: the node did not take the request, or not in time. `empty`: it finished without a token. `failed`: it reported a failure. `broken`: it broke the protocol. `quiet`: it stopped responding. `expired`: it took too long. `lost`: its connection dropped. `cut`: the platform lost its connection to the node. `cancelled`: by the client.",
    ),
  offered_ms: MS_SINCE_DISPATCH.describe("When the node was asked, in milliseconds since the request was dispatched."),
  accepted_ms: MS_SINCE_DISPATCH.nullable().describe("When the node accepted; null if it did not."),
  first_token_ms: MS_SINCE_DISPATCH.nullable().describe("When its first output arrived; null if there was none."),
  ended_ms: MS_SINCE_DISPATCH.describe("When the attempt ended."),
});
export const ATTEMPT_LIST_DESCRIPTION =
  "Every attempt in its order, also on nodes that did not accept, for 90 days. Empty if there was one at most; its times are the request's own. Appears a second after the request ended.";
const RequestDetail = z.strictObject({
  ...Request.shape,
  attempt_list: z.array(RequestAttempt).describe(ATTEMPT_LIST_DESCRIPTION),
});

const RequestList = makeListSchema(Request, {
  kept_from: Time.nullable().describe(
    "Records of older requests have been deleted; their sums remain. null: all records are kept.",
  ),
  searched_to: Time.optional().describe(
    "Present if the page ended before it was full, because as many records were searched as one page may: the time of the last one. `next_cursor` continues there.",
  ),
  searched_to_charge_micro: Money.optional().describe(
    "Present instead of `searched_to` if such a list is sorted by cost: the cost of the last record that was searched.",
  ),
});

const RequestTotals = z
  .strictObject({
    object: z.literal("request_totals"),
    ...AsOfField,
    requests: Count,
    prompt_tokens: Count,
    completion_tokens: Count,
    charge_micro: Money,
  })
  .describe("The totals of all requests that match the filters.");

const RequestHistogram = z
  .strictObject({
    object: z.literal("request_histogram"),
    ...AsOfField,
    from: Time,
    to: Time,
    bucket_s: z.int().min(60).describe("Length of a bucket in seconds, chosen so that there are at most 121."),
    data: z.array(
      z.strictObject({ at: Time.describe("Start of the bucket."), outcome: RequestOutcome, requests: Count }),
    ),
  })
  .describe(
    "Requests over time by outcome. Buckets of a day or a week start at midnight UTC; empty ones are left out.",
  );

const Unfunded = z.strictObject({
  key: Id("key"),
  reason: z
    .enum(INSUFFICIENT_CREDIT_REASONS)
    .describe(
      "`no_credit`: the balance was zero. `hold`: the balance was lower than the hold. `budget_day`, `budget_month`: the rest of the key's budget was lower than the hold.",
    ),
  requests: Count,
});

const UnfundedList = makeListSchema(Unfunded, { from: Time, to: Time });

export const requestResponseSchemas = {
  Request,
  RequestAttempt,
  RequestDetail,
  RequestList,
  RequestTotals,
  RequestHistogram,
  Unfunded,
  UnfundedList,
  RequestOutcome,
  Receipt,
};

export const sampleRequest = {
  id: makeSampleId("req"),
  object: "request",
  created_at: SAMPLE_TIME,
  finished_at: SAMPLE_TIME + 2,
  key: { id: makeSampleId("key"), name: "production" },
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

const REQUEST_PATH = { id: "The request ID, `req_…`, or the ID of its response: `chatcmpl-…`, `cmpl-…`." };
const FILTER_WORDS = {
  model: "Only requests for this model, or for any of several, separated by commas.",
  not_model: "Only requests for other models.",
  key: "Only requests with this key, `key_…`, or `playground` for requests from the console's playground; or with any of several, separated by commas.",
  not_key: "Only requests with other keys.",
  outcome:
    "Only requests with this outcome, such as `ok`, or any of several, separated by commas. An unknown outcome is a 422 `unknown_outcome`.",
  not_outcome: "Only requests with other outcomes.",
  label: "Only requests with this label.",
  not_label: "Only requests without this label.",
  charge_micro_min: "Only requests that cost at least this, in microdollars.",
  charge_micro_max: "Only requests that cost at most this, in microdollars.",
  tokens_min: "Only requests with at least this many tokens, prompt and output together.",
  tokens_max: "Only requests with at most this many tokens.",
  ttft_ms_min: "Only requests whose first token took at least this long, in milliseconds.",
  ttft_ms_max: "Only requests whose first token took at most this long.",
  duration_ms_min: "Only requests that took at least this long, in milliseconds.",
  duration_ms_max: "Only requests that took at most this long.",
};
const SEARCHED =
  "Filters by cost, tokens, time to first token, duration, or `not_label` have no rollup, so that records are searched for them";
const SPAN_WORDS = {
  from: "Start of the range: `2026-11-15`, `2026-11-15T06:30:00Z` or Unix seconds. Default: the first day of the month of `to`.",
  to: "End of the range, in the same formats as `from`. Default: now.",
};

export const sampleAttempts = [
  { outcome: "quiet", offered_ms: 2, accepted_ms: 9, first_token_ms: null, ended_ms: 2009 },
  { outcome: "finished", offered_ms: 2011, accepted_ms: 2020, first_token_ms: 2190, ended_ms: 2650 },
];

export const requestRoutes = declareRoutes({
  listRequests: {
    at: "GET /console/api/requests",
    summary: "List requests",
    description: `Filters are combined with AND. Sorting by cost, tokens or duration puts the highest first. Sorting by cost works for any number of requests: with filters other than model, key, outcome and cost, a page may end early (\`searched_to_charge_micro\`) where a range has more than 31 days or 200,0 requests. Sorting by tokens or duration requires a time range of at most 31 days with at most 200,0 requests. ${SEARCHED}: a page searches at most 100,0, and \`searched_to\` is where it stopped. The platform may delete old records: \`kept_from\` is the date of the oldest ones kept.`,
    guard: "builder",
    query: RequestsQuery,
    words: {
      ...FILTER_WORDS,
      sort: "The order: `newest` first, `oldest` first, by `cost`, by `tokens` or by `duration`.",
    },
    answer: {
      description: "A page of the history.",
      json: RequestList,
      example: { ...sampleList(sampleRequest), kept_from: null },
    },
    faults: refusalsOfCodes("invalid_cursor", "unknown_model", "unknown_outcome"),
  },
  exportRequests: {
    at: "GET /console/api/requests.csv",
    summary: "Export requests",
    description: "All requests that match the filters, newest first, in one CSV file.",
    guard: "builder",
    query: RequestsFilter,
    words: FILTER_WORDS,
    answer: {
      description: "The CSV file.",
      csv: {
        description: "A header line, then one comma-separated line per request.",
        example: `${CSV_COLUMNS}\r\n`,
      },
      headers: ["content-disposition"],
    },
    faults: refusalsOfCodes("unknown_model", "unknown_outcome"),
  },
  getRequestTotals: {
    at: "GET /console/api/requests/totals",
    summary: "Sum requests",
    description: `Covers all requests that match the filters, not only one page. For requests whose records were deleted, whole hours are counted, or whole days for a label; a label combined with another filter counts none of them. A label combined with another filter requires a time range with at most 200,000 requests of that label. $SEARCHED: they require a time range with at most 200,000 requests, and count none whose records were deleted.`,
    guard: "builder",
    query: RequestsFilter,
    words: FILTER_WORDS,
    answer: {
      description: "The totals.",
      json: RequestTotals,
      example: {
        object: "request_totals",
        as_of: SAMPLE_TIME,
        requests: 1204,
        prompt_tokens: 88_102,
        completion_tokens: 41_377,
        charge_micro: "5539.450000",
      },
    },
    faults: refusalsOfCodes("unknown_model", "unknown_outcome"),
  },
  getRequestHistogram: {
    at: "GET /console/api/requests/histogram",
    summary: "Count requests over time",
    description:
      "Counts by time and outcome of all requests that match the filters. Buckets are as short as possible, from a minute on. Buckets shorter than an hour, a label, and the filters that search records require a time range with at most 200,000 requests; where only the buckets are the reason, they are an hour instead.",
    guard: "builder",
    query: RequestsFilter,
    words: {
      ...FILTER_WORDS,
      from: "Start of the range, in the formats of every list. Default: the account's first request.",
      to: "End of the range. Default, and latest: now.",
    },
    answer: {
      description: "The counts.",
      json: RequestHistogram,
      example: {
        object: "request_histogram",
        from: SAMPLE_TIME,
        to: SAMPLE_TIME + 3600,
        bucket_s: 60,
        data: [{ at: SAMPLE_TIME, outcome: "ok", requests: 12 }],
        as_of: SAMPLE_TIME,
      },
    },
    faults: refusalsOfCodes("unknown_model", "unknown_outcome"),
  },
  listUnfunded: {
    at: "GET /console/api/unfunded",
    summary: "Count requests refused for lack of credit",
    description:
      "Such requests get a 402 and have no record in the history. Counts cover whole hours and at most 400 days, and are a few seconds late.",
    guard: "builder",
    query: UnfundedQuery,
    words: SPAN_WORDS,
    answer: {
      description: "The counts by key and reason.",
      json: UnfundedList,
      example: {
        ...sampleList({ key: makeSampleId("key"), reason: "no_credit", requests: 12 }),
        from: SAMPLE_TIME,
        to: SAMPLE_TIME + 86_400,
      },
    },
  },
  getRequest: {
    at: "GET /console/api/requests/{id}",
    summary: "Get a request",
    guard: "builder",
    path: REQUEST_PATH,
    answer: {
      description: "The request.",
      json: RequestDetail,
      example: { ...sampleRequest, attempt_list: sampleAttempts },
    },
    faults: [NO_SUCH_REQUEST],
  },
  getReceipt: {
    at: "GET /console/api/requests/{id}/receipt",
    summary: "Get the signed receipt of a request",
    description: "Verify it with the keys at /.well-known/tollgate-receipts.",
    guard: "builder",
    path: REQUEST_PATH,
    answer: { description: "The receipt.", json: Receipt, example: sampleReceipt },
    faults: [NO_SUCH_REQUEST],
  },
});
