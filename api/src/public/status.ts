/** What anybody may know of how the models are doing: shares and speeds, nothing that tells of traffic or accounts. */
import { z } from "zod";
import { INCIDENT_KINDS, MODEL_KINDS, MODEL_STATES } from "../states.ts";

const Share = z.number().min(0).max(1).nullable();
const Time = z.int().describe("Unix time in seconds.");

const Speeds = {
  ttft_p50_ms: z.number().nullable().describe("Median time to the first token; null for embeddings, which come whole."),
  tokens_per_second: z.number().nullable(),
};

const Day = z.strictObject({
  day: z.string().describe("In UTC: `2026-11-15`."),
  availability: Share.describe("The share of samples in which a node could serve it; null before the first one."),
  failed_share: Share.describe("Of requests, but for those whose client left; null where there were fewer than 20."),
  ...Speeds,
});

const ModelStatus = z.strictObject({
  id: z.string(),
  kind: z.enum(MODEL_KINDS),
  now: z.strictObject({
    state: z
      .enum(MODEL_STATES)
      .describe(
        "`available`: a node can serve it. `degraded`: one can, and too many requests fail. `unavailable`: none can.",
      ),
    ...Speeds,
  }),
  availability: Share.describe("Over all of the days."),
  days: z.array(Day).length(90).describe("The last 90, the oldest first; today, as far as it has come, is the last."),
});

const Incident = z.strictObject({
  model: z.string(),
  kind: z
    .enum(INCIDENT_KINDS)
    .describe(
      "`unavailable`: no node could serve it in two samples or more on end. `errors`: a fifth or more of twenty or more requests failed within five minutes.",
    ),
  from: Time,
  to: Time.nullable().describe("Null while it lasts."),
});

export const Status = z.strictObject({
  object: z.literal("status"),
  at: Time.describe("When all of this was so."),
  stale: z.boolean().describe("The gateway cannot tell how it is now: this is the last that it knew."),
  sample_seconds: z.int().describe("How often availability is sampled."),
  models: z.array(ModelStatus),
  incidents: z.array(Incident).describe("Of the last 90 days, the newest first, 50 at most."),
});

const day = (name: string) => ({
  day: name,
  availability: 0.9993,
  failed_share: 0.002,
  ttft_p50_ms: 180,
  tokens_per_second: 41.5,
});

/** Ninety days up to that one. */
const daysTo = (last: string) =>
  Array.from({ length: 90 }, (_, i) =>
    day(new Date(Date.parse(last) - (89 - i) * 86_400_000).toISOString().slice(0, 10)),
  );

export const sampleStatus = {
  object: "status",
  at: 1_790_000_000,
  stale: false,
  sample_seconds: 60,
  models: [
    {
      id: "small-8b",
      kind: "generation",
      now: { state: "available", ttft_p50_ms: 180, tokens_per_second: 41.5 },
      availability: 0.9993,
      days: daysTo("2026-09-21"),
    },
  ],
  incidents: [{ model: "small-8b", kind: "unavailable", from: 1_789_913_580, to: 1_789_913_820 }],
};
