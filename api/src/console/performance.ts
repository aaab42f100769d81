/** The speed and error rate of a builder's requests. */
import { z } from "zod";
import { AsOfField, Count, Id, Milliseconds, SAMPLE_TIME, Time } from "../common-schemas.ts";
import { refusalsOfCodes } from "../faults.ts";
import { RANGE_END_DESCRIPTION, TimeRangeFields } from "../list-query-fields.ts";
import { declareRoutes } from "../route-declaration.ts";
import { KeyOrPlayground, PLAYGROUND_KEY_FILTER } from "./playground.ts";

const RANGES = ["1h", "6h", "24h", "7d", "30d", "90d"] as const;
const PERFORMANCE_BY = ["model", "key"] as const;

const PerformanceQuery = z.object({
  range: z.enum(RANGES, `must be one of ${RANGES.join(", ")}`).default("24h"),
  by: z.enum(PERFORMANCE_BY, `must be one of ${PERFORMANCE_BY.join(", ")}`).default("model"),
  model: z.string().optional(),
  key: KeyOrPlayground.optional(),
  to: TimeRangeFields.to,
});

const Percentiles = z
  .strictObject({ p50: Milliseconds, p95: Milliseconds, p99: Milliseconds })
  .describe("In milliseconds, for successful requests, accurate to one percent. null if there were none.");

const FIGURES = {
  requests: Count.describe("Without requests refused by a rate limit."),
  ok: Count,
  closed: Count.describe("Cancelled by the client; not counted as errors."),
  failed: Count,
  error_share: z
    .number()
    .nullable()
    .describe(
      "Failed requests as a share (0 to 1) of all requests that the client did not cancel. null if there were none.",
    ),
  ttft_ms: Percentiles,
  duration_ms: Percentiles,
  tokens_per_second: z.number().nullable().describe("Output speed after the first token. null if there was no output."),
};

const PerformanceRow = z
  .strictObject({
    model: z.string().optional(),
    key: Id("key").or(z.literal(PLAYGROUND_KEY_FILTER)).optional(),
    ...FIGURES,
  })
  .describe("Figures of one model or key, depending on `by`. All playground keys share one row, `playground`.");
const PerformancePoint = z.strictObject({ at: Time.describe("Start of the time interval."), ...FIGURES });

const Performance = z.strictObject({
  object: z.literal("performance"),
  ...AsOfField,
  range: z.enum(RANGES),
  by: z.enum(PERFORMANCE_BY),
  from: Time,
  to: Time.describe("The end of the current slot."),
  slot_s: z.int().describe("Length of a slot, in seconds."),
  total: z.strictObject(FIGURES),
  data: z.array(PerformanceRow),
  series: z.array(PerformancePoint).describe("Oldest first. Slots without requests are omitted."),
});

export const performanceResponseSchemas = { Performance, PerformanceRow, PerformancePoint };

const sampleFigures = {
  requests: 1204,
  ok: 1190,
  closed: 6,
  failed: 8,
  error_share: 0.006_677_796_327_212_02,
  ttft_ms: { p50: 181, p95: 412, p99: 905 },
  duration_ms: { p50: 1238, p95: 4120, p99: 8255 },
  tokens_per_second: 41.5,
};

export const performanceRoutes = declareRoutes({
  getPerformance: {
    at: "GET /console/api/performance",
    summary: "Get request performance",
    description:
      "Percentiles, speed and errors: in total, by model or key, and over time. Requests appear a few seconds after they end.",
    guard: "builder",
    query: PerformanceQuery,
    words: {
      range:
        "The time range: slots of 5 minutes for `1h` and `6h`, an hour for `24h` and `7d`, a UTC day for `30d` and `90d`, the current one included.",
      by: "How the rows of `data` are grouped.",
      model: "Only requests for this model.",
      key: "Only requests with this key, `key_…`, or `playground` for requests from the console's playground.",
      to: RANGE_END_DESCRIPTION,
    },
    answer: {
      description: "The figures.",
      json: Performance,
      example: {
        object: "performance",
        as_of: SAMPLE_TIME,
        range: "24h",
        by: "model",
        from: SAMPLE_TIME,
        to: SAMPLE_TIME + 86_400,
        slot_s: 3600,
        total: sampleFigures,
        data: [{ model: "small-8b", ...sampleFigures }],
        series: [{ at: SAMPLE_TIME, ...sampleFigures }],
      },
    },
    faults: refusalsOfCodes("unknown_model"),
  },
});
