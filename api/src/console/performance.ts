/** How a builder's requests went: how fast, and how many failed. */
import { z } from "zod";
import { codes } from "../faults.ts";
import { routes } from "../route.ts";
import { Count, Id, Milliseconds, SAMPLE_TIME, Time } from "../values.ts";
import { KeyOrPlayground, PLAYGROUND } from "./playground.ts";

const RANGES = ["1h", "6h", "24h", "7d", "30d", "90d"] as const;
const PERFORMANCE_BY = ["model", "key"] as const;

const PerformanceQuery = z.object({
  range: z.enum(RANGES, `must be one of ${RANGES.join(", ")}`).default("24h"),
  by: z.enum(PERFORMANCE_BY, `must be one of ${PERFORMANCE_BY.join(", ")}`).default("model"),
  model: z.string().optional(),
  key: KeyOrPlayground.optional(),
});

const Percentiles = z
  .strictObject({ p50: Milliseconds, p95: Milliseconds, p99: Milliseconds })
  .describe("In milliseconds, of answers that ended well, right to one percent. null: there was none.");

const FIGURES = {
  requests: Count.describe("Without those that a limit refused."),
  ok: Count,
  closed: Count.describe("The client went away: no error."),
  failed: Count,
  error_share: z
    .number()
    .nullable()
    .describe("Failed ones of those whose client stayed, from 0 to 1. null of nothing."),
  ttft_ms: Percentiles,
  duration_ms: Percentiles,
  tokens_per_second: z.number().nullable().describe("Of output after its first token. null without any."),
};

const PerformanceRow = z
  .strictObject({ model: z.string().optional(), key: Id("key").or(z.literal(PLAYGROUND)).optional(), ...FIGURES })
  .describe(
    "Of one model or key, as `by` names. The keys of the console's playground, one for each session, are one: `playground`.",
  );
const PerformancePoint = z.strictObject({ at: Time.describe("When the slot begins."), ...FIGURES });

const Performance = z.strictObject({
  object: z.literal("performance"),
  range: z.enum(RANGES),
  by: z.enum(PERFORMANCE_BY),
  from: Time,
  to: Time.describe("The end of the slot that is running."),
  slot_s: z.int().describe("How long a slot of the series is, in seconds."),
  total: z.strictObject(FIGURES),
  data: z.array(PerformanceRow),
  series: z.array(PerformancePoint).describe("The oldest first. Slots without a request are left out."),
});

export const answers = { Performance, PerformanceRow, PerformancePoint };

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

export const performanceRoutes = routes({
  getPerformance: {
    at: "GET /console/api/performance",
    summary: "Read how requests went",
    description:
      "Percentiles, speed and errors, in total, by model or key, and over time. A request is counted a few seconds after it ended.",
    guard: "builder",
    query: PerformanceQuery,
    words: {
      range:
        "How far back: in slots of 5 minutes (`1h`, `6h`), an hour (`24h`, `7d`) or a UTC day (`30d`, `90d`), the running one among them.",
      by: "What the rows of `data` are of.",
      model: "Only requests for this model.",
      key: "Only requests with this key, `key_…`; `playground`: those of the console's playground.",
    },
    answer: {
      description: "The figures.",
      json: Performance,
      example: {
        object: "performance",
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
    faults: codes("unknown_model"),
  },
});
