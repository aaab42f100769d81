/** What both doors of a host tell of its nodes over time: figures, the log of jobs, the market. */
import { z } from "zod";
import { PageFields, SpanFields } from "../lists.ts";
import { MODEL_KINDS, REQUEST_OUTCOMES } from "../states.ts";
import { Count, Id, listOf, Milliseconds, Money, RequestOutcome, SAMPLE_TIME, sampleId, Time } from "../values.ts";
import { NodeField } from "./fields.ts";

const INSIGHT_RANGES = ["1h", "6h", "24h", "7d", "30d", "90d"] as const;

export const InsightQuery = z.object({
  range: z.enum(INSIGHT_RANGES, `must be one of ${INSIGHT_RANGES.join(", ")}`).default("24h"),
});
export const INSIGHT_WORDS = { range: "How far back it reaches; 5-minute slots up to `6h`, then hours, then days." };

const Share = z.number().min(0).max(1).nullable();

const figures = {
  requests: Count,
  ok: Count,
  closed: Count.describe("The client went away: no failure."),
  failed: Count.describe("Did not end well, whoever's doing it was."),
  failed_share: Share.describe("Failed ones of those whose client stayed. null of nothing."),
  prompt_tokens: Count,
  completion_tokens: Count,
  ttft_p50_ms: Milliseconds.describe("Median time to the first token, of answers that ended well."),
  ttft_p95_ms: Milliseconds,
  tps: z.number().nullable().describe("Tokens per second of output after its first token. null without any."),
  utilisation: Share.describe(
    "Working time as a share of slots × time connected. null where the node was not seen connected.",
  ),
  connected: Share.describe("Share of the time in which the node was connected. null where nobody looked."),
};

const InsightFigures = z.strictObject({ ...figures, earned_micro: Money });
export const InsightPoint = z.strictObject({ at: Time.describe("When the slot begins."), ...figures });
export const InsightEarning = z.strictObject({ at: Time, earned_micro: Money });

const insight = {
  range: z.enum(INSIGHT_RANGES),
  from: Time,
  to: Time.describe("The end of the slot that is running."),
  slot_s: z.int().describe("How long a slot of the series is, in seconds."),
  total: InsightFigures.describe("Of the whole range; what was earned, from the hour on in which it begins."),
  series: z.array(InsightPoint).describe("Every slot, the oldest first."),
  earnings_slot_s: z.int().describe("How long a slot of the earnings is: they are kept by the hour."),
  earnings: z.array(InsightEarning).describe("Every slot, the oldest first. They add up to the total."),
};

export const NodeInsight = z.strictObject({ object: z.literal("node_insight"), node: Id("node"), ...insight });

export const HostInsight = z.strictObject({
  object: z.literal("host_insight"),
  ...insight,
  nodes: z
    .array(
      z.strictObject({
        node: Id("node"),
        total: InsightFigures,
        utilisation: z.array(Share).describe("By slot, as in the series."),
      }),
    )
    .describe("Each node of the account, the oldest first."),
});

/** Those that a request which reached a node can have. */
const JOB_OUTCOMES = REQUEST_OUTCOMES.filter((outcome) => !outcome.startsWith("rate_limit_"));
export const JobsQuery = z.object({
  ...PageFields,
  ...SpanFields,
  model: z
    .string()
    .regex(/^[\w.:-]{1,100}$/, "must be a model's id")
    .optional(),
  outcome: z.enum(JOB_OUTCOMES, `must be one of ${JOB_OUTCOMES.join(", ")}`).optional(),
});
export const JOBS_WORDS = {
  model: "Only of this model.",
  outcome: "Only those that ended so.",
  from: "Only jobs from here on: `2026-11-15`, `2026-11-15T06:30:00Z` or Unix seconds.",
  to: "Only those before it, written like `from`.",
};

const JOB_FAULTS = ["engine", "quiet", "client", "platform"] as const;

export const Job = z
  .strictObject({
    request_id: Id("req"),
    model: z.string().nullable(),
    created_at: Time,
    finished_at: Time,
    outcome: RequestOutcome,
    says: z.string().describe("How it ended, for its host."),
    by: z
      .enum(JOB_FAULTS)
      .nullable()
      .describe(
        "Whose doing it was that it did not end well: the `engine` failed, the node went `quiet`, the `client` left, or it was the `platform`, which never counts against a node. null: it ended well.",
      ),
    prompt_tokens: Count,
    completion_tokens: Count,
    queue_ms: Milliseconds.describe("How long it waited for a node."),
    ttft_ms: Milliseconds.describe("From its arrival to the first token."),
    duration_ms: Milliseconds.describe("From its arrival to its end."),
    tps: z.number().nullable(),
    earned_micro: Money,
    own: z.boolean().describe("Whether a builder account of the host's own owner asked for it."),
  })
  .describe("One request that this node served last: neither what was asked and answered, nor who asked.");
export const JobList = listOf(Job);

export const MarketQuery = z.object({ node: NodeField.optional() });
export const MARKET_WORDS = { node: "Estimates by what this node measured, and for its slots." };

const Rounded = z.number().min(0);

export const MarketModel = z.strictObject({
  model: z.string(),
  kind: z.enum(MODEL_KINDS),
  price_in_micro_1m: Count.nullable().describe("Microdollars per million input tokens."),
  price_out_micro_1m: Count.nullable().describe("Microdollars per million output tokens."),
  tokens_per_hour_24h: Rounded.describe(
    "Tokens in and out that all builders together used, an hour, over the last 24; two digits, the rest rounded.",
  ),
  tokens_per_hour_7d: Rounded.describe("The same over the last 7 days."),
  waiting: Count.describe("Requests that wait for a node now, at the gateway that answers."),
  nodes: Count.describe("Connected nodes that serve it."),
  slots: Count,
  busy: Count,
  elected: z
    .boolean()
    .describe("Whether the node that was asked for elected it; without one, any node of the account."),
  speed: z
    .strictObject({
      of: z.enum(["node", "model"]).describe("Measured on this node, or over all nodes that served the model."),
      prompt_tokens_per_s: Rounded,
      completion_tokens_per_s: Rounded,
    })
    .nullable()
    .describe("Tokens per second of working time of one slot, in the last 7 days. null: nothing was measured."),
  slot_hour_micro: Money.nullable().describe(
    "An estimate: what one slot would earn in an hour without a pause, speed × price × the host's share.",
  ),
  node_hour_micro: Money.nullable().describe("The same for all slots of the node; null where its slots are not known."),
  mean_hour_micro: Money.nullable().describe(
    "What a node that elected the model earned by it in an hour of being connected, on average over the last 24 hours. null where fewer than three hosts serve it, so that nobody reads another's earnings.",
  ),
});
export const Market = listOf(MarketModel, {
  share_percent: Count.describe("What of a charge its host gets."),
  slots: Count.nullable().describe("Of the node: how many requests it takes at once now. null: it is not connected."),
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
export const sampleNodeInsight = { object: "node_insight", node: sampleId("node"), ...sampleSeries };
export const sampleHostInsight = {
  object: "host_insight",
  ...sampleSeries,
  nodes: [{ node: sampleId("node"), total: sampleSeries.total, utilisation: [0.42] }],
};
export const sampleJob = {
  request_id: sampleId("req"),
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
