/** A host's figures over time, the log of jobs and the market, for the node API and the console API. */
import { z } from "zod";
import {
  AsOfField,
  Count,
  Id,
  Milliseconds,
  Money,
  makeListSchema,
  makeSampleId,
  RequestOutcome,
  SAMPLE_TIME,
  Time,
} from "../common-schemas.ts";
import { MODEL_KINDS, REQUEST_OUTCOMES } from "../enumerations.ts";
import { PageFields, RANGE_END_DESCRIPTION, TimeRangeFields } from "../list-query-fields.ts";
import { NodeField } from "./request-fields.ts";

const INSIGHT_RANGES = ["1h", "6h", "24h", "7d", "30d", "90d"] as const;

export const ActivityQuery = z.object({
  range: z.enum(INSIGHT_RANGES, `must be one of ${INSIGHT_RANGES.join(", ")}`).default("24h"),
  to: TimeRangeFields.to,
});
export const ACTIVITY_QUERY_DESCRIPTIONS = {
  range: "The time range: slots of 5 minutes up to `6h`, then an hour, then a day.",
  to: RANGE_END_DESCRIPTION,
};

const Share = z.number().min(0).max(1).nullable();

const figures = {
  requests: Count,
  ok: Count,
  closed: Count.describe("Cancelled by the client; not counted as failed."),
  failed: Count.describe("Requests that failed, whatever the cause."),
  failed_share: Share.describe(
    "Failed requests as a share of all requests that the client did not cancel. null if there were none.",
  ),
  prompt_tokens: Count,
  completion_tokens: Count,
  ttft_p50_ms: Milliseconds.describe("Median time to first token of successful requests."),
  ttft_p95_ms: Milliseconds,
  tps: z
    .number()
    .nullable()
    .describe("Output speed after the first token, in tokens per second. null if there was no output."),
  utilisation: Share.describe("Busy time as a share of slots × connected time. null if the node was not connected."),
  connected: Share.describe("Share of time in which the node was connected. null if not sampled."),
};

const InsightFigures = z.strictObject({ ...figures, earned_micro: Money });
export const ActivityPoint = z.strictObject({ at: Time.describe("Start of the time interval."), ...figures });
export const ActivityEarning = z.strictObject({ at: Time, earned_micro: Money });

const insight = {
  range: z.enum(INSIGHT_RANGES),
  from: Time,
  to: Time.describe("The end of the current slot."),
  slot_s: z.int().describe("Length of a slot, in seconds."),
  total: InsightFigures.describe(
    "Figures for the whole range. Earnings count from the start of the hour in which the range begins.",
  ),
  series: z.array(ActivityPoint).describe("Every slot, oldest first."),
  earnings_slot_s: z.int().describe("Length of an earnings slot, in seconds. Earnings are kept by the hour."),
  earnings: z.array(ActivityEarning).describe("Every slot, oldest first. The slots add up to the total."),
};

export const NodeActivity = z.strictObject({
  object: z.literal("node_insight"),
  ...AsOfField,
  node: Id("node"),
  ...insight,
});

export const HostActivity = z.strictObject({
  object: z.literal("host_insight"),
  ...AsOfField,
  ...insight,
  nodes: z
    .array(
      z.strictObject({
        node: Id("node"),
        total: InsightFigures,
        utilisation: z.array(Share).describe("One value per slot, as in the series."),
      }),
    )
    .describe("Each node of the account, oldest first."),
});

/** The outcomes of requests that reached a node. Rate-limited requests do not. */
const JOB_OUTCOMES = REQUEST_OUTCOMES.filter((outcome) => !outcome.startsWith("rate_limit_"));
export const JobsQuery = z.object({
  ...PageFields,
  ...TimeRangeFields,
  model: z
    .string()
    .regex(/^[\w.:-]{1,100}$/, "must be a model ID")
    .optional(),
  outcome: z.enum(JOB_OUTCOMES, `must be one of ${JOB_OUTCOMES.join(", ")}`).optional(),
});
export const JOBS_QUERY_DESCRIPTIONS = {
  model: "Only jobs of this model.",
  outcome: "Only jobs with this outcome.",
  from: "Start of the time range: `2026-11-15`, `2026-11-15T06:30:00Z` or Unix seconds.",
  to: "End of the time range (exclusive), in the same formats as `from`.",
};

const JOB_FAULTS = ["engine", "quiet", "client", "platform"] as const;

export const Job = z
  .strictObject({
    request_id: Id("req"),
    model: z.string().nullable(),
    created_at: Time,
    finished_at: Time,
    outcome: RequestOutcome,
    says: z.string().describe("The outcome in words, for the host."),
    by: z
      .enum(JOB_FAULTS)
      .nullable()
      .describe(
        "What caused the failure: `engine` (the engine failed), `quiet` (the node stopped responding), `client` (the client cancelled) or `platform`, which never counts against a node. null: no failure.",
      ),
    prompt_tokens: Count,
    completion_tokens: Count,
    queue_ms: Milliseconds.describe("Time until a node accepted the request."),
    ttft_ms: Milliseconds.describe("Time from arrival to the first token."),
    duration_ms: Milliseconds.describe("Time from arrival to the end."),
    tps: z.number().nullable(),
    earned_micro: Money,
    own: z.boolean().describe("Whether the request came from a builder account of the host's own owners."),
  })
  .describe("A request that this node served. Prompt, output and builder are not included.");
export const JobList = makeListSchema(Job);

export const MarketQuery = z.object({ node: NodeField.optional() });
export const MARKET_QUERY_DESCRIPTIONS = {
  node: "Base the estimates on this node's measured speed and number of slots.",
};

const Rounded = z.number().min(0);

export const MarketModel = z.strictObject({
  model: z.string(),
  kind: z.enum(MODEL_KINDS),
  price_in_micro_1m: Count.nullable().describe("Microdollars per million input tokens."),
  price_out_micro_1m: Count.nullable().describe("Microdollars per million output tokens."),
  tokens_per_hour_24h: Rounded.describe(
    "Input and output tokens of all builders per hour, averaged over the last 24 hours and rounded to two significant digits.",
  ),
  tokens_per_hour_7d: Rounded.describe("The same, averaged over the last 7 days."),
  waiting: Count.describe("Requests that wait for a node at the gateway that answers."),
  nodes: Count.describe("Number of connected nodes that serve the model."),
  slots: Count,
  busy: Count,
  elected: z
    .boolean()
    .describe(
      "Whether the node in the query serves this model by its host's choice; if no node is given, whether any node of the account does.",
    ),
  speed: z
    .strictObject({
      of: z
        .enum(["node", "model"])
        .describe("`node`: measured on this node. `model`: measured over all nodes that served the model."),
      prompt_tokens_per_s: Rounded,
      completion_tokens_per_s: Rounded,
    })
    .nullable()
    .describe("Tokens per second of busy time of one slot, over the last 7 days. null if nothing was measured."),
  slot_hour_micro: Money.nullable().describe(
    "Estimate: hourly earnings of one slot that is always busy (speed × price × the host's share).",
  ),
  node_hour_micro: Money.nullable().describe(
    "The same for all slots of the node; null if its number of slots is not known.",
  ),
  mean_hour_micro: Money.nullable().describe(
    "Average hourly earnings from this model per connected node that elected it, over the last 24 hours. null if fewer than three hosts serve it, so that no host's earnings are revealed.",
  ),
});
export const Market = makeListSchema(MarketModel, {
  share_percent: Count.describe("The host's share of a charge, in percent."),
  slots: Count.nullable().describe("Number of requests that the node can serve at a time. null if not connected."),
});

const sampleFigures = {
  requests: 1204,
  ok: 1190,
  closed: 6,
  failed: 8,
  failed_share: 0.006_677_796_327_212_02,
  prompt_tokens: 88_102,
  completion_tokens: 41_377,
  ttft_p50_ms: 181,
  ttft_p95_ms: 412,
  tps: 41.5,
  utilisation: 0.42,
  connected: 1,
};
const sampleSeries = {
  range: "24h",
  from: SAMPLE_TIME,
  to: SAMPLE_TIME + 86_400,
  slot_s: 3600,
  total: { ...sampleFigures, earned_micro: "3877.615000" },
  series: [{ at: SAMPLE_TIME, ...sampleFigures }],
  earnings_slot_s: 3600,
  earnings: [{ at: SAMPLE_TIME, earned_micro: "3877.615000" }],
};
export const sampleNodeActivity = {
  object: "node_insight",
  as_of: SAMPLE_TIME,
  node: makeSampleId("node"),
  ...sampleSeries,
};
export const sampleHostActivity = {
  object: "host_insight",
  as_of: SAMPLE_TIME,
  ...sampleSeries,
  nodes: [{ node: makeSampleId("node"), total: sampleSeries.total, utilisation: [0.42] }],
};
export const sampleJob = {
  request_id: makeSampleId("req"),
  model: "small-8b",
  created_at: SAMPLE_TIME,
  finished_at: SAMPLE_TIME + 2,
  outcome: "ok",
  says: "Completed.",
  by: null,
  prompt_tokens: 14,
  completion_tokens: 9,
  queue_ms: 2,
  ttft_ms: 180,
  duration_ms: 397,
  tps: 41.5,
  earned_micro: "0.735000",
  own: false,
};
export const sampleMarket = {
  object: "list",
  as_of: SAMPLE_TIME,
  data: [
    {
      model: "small-8b",
      kind: "generation",
      price_in_micro_1m: 30_000,
      price_out_micro_1m: 70_000,
      tokens_per_hour_24h: 120_000,
      tokens_per_hour_7d: 98_000,
      waiting: 0,
      nodes: 3,
      slots: 12,
      busy: 5,
      elected: true,
      speed: { of: "node", prompt_tokens_per_s: 61.2, completion_tokens_per_s: 38.4 },
      slot_hour_micro: "11400.480000",
      node_hour_micro: "45601.920000",
      mean_hour_micro: "9120.000000",
    },
  ],
  next_cursor: null,
  share_percent: 70,
  slots: 4,
};
