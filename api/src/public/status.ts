/** The public status of models: availability and speed. It reveals nothing about traffic or accounts. */
import { z } from "zod";
import { Id, makeSampleId } from "../common-schemas.ts";
import { MODEL_KINDS, MODEL_STATES, PLATFORM_STATES, PUBLIC_INCIDENT_CAUSES } from "../enumerations.ts";

const Share = z.number().min(0).max(1).nullable();
const Time = z.int().describe("Unix time in seconds.");

const Speeds = {
  ttft_p50_ms: z.number().nullable().describe("Median time to first token; null for embeddings."),
  tokens_per_second: z.number().nullable(),
};

const Day = z.strictObject({
  day: z.string().describe("The UTC day, such as `2026-11-15`."),
  availability: Share.describe("Share of samples in which a node could serve the model; null before the first sample."),
  failed_share: Share.describe(
    "Share of requests that failed, without those cancelled by the client; null for fewer than 20 requests.",
  ),
  ...Speeds,
});

const ModelStatus = z.strictObject({
  id: z.string(),
  kind: z.enum(MODEL_KINDS),
  now: z.strictObject({
    state: z
      .enum(MODEL_STATES)
      .describe(
        "`available`: a node can serve the model. `degraded`: a node can, but too many requests fail. `unavailable`: no node can.",
      ),
    ...Speeds,
  }),
  availability: Share.describe("Average over all days."),
  days: z.array(Day).length(90).describe("The last 90 days, oldest first. The last entry is today so far."),
});

const Incident = z.strictObject({
  id: Id("inc"),
  model: z.string().nullable().describe("Null: the whole platform."),
  state: z
    .enum(PLATFORM_STATES)
    .exclude(["serving"])
    .describe("The worst that it was. `down`: no request was served. `degraded`: some were not."),
  kind: z
    .enum(PUBLIC_INCIDENT_CAUSES)
    .describe(
      "`internal`: a part of the platform did not work. `stopped`: the platform was not running. `unavailable`: no node could serve. `errors`: a fifth or more of the requests failed.",
    ),
  from: Time,
  to: Time.nullable().describe("Null while it is ongoing."),
  updates: z
    .array(z.strictObject({ at: Time, text: z.string() }))
    .describe("What the operators said about it, newest first."),
});

export const Status = z.strictObject({
  object: z.literal("status"),
  as_of: Time.describe("The time of `state`, `since` and each model's `now.state`."),
  state: z.enum(PLATFORM_STATES).describe("`serving`; `degraded`: some requests cannot be served; `down`: none can."),
  since: Time.nullable().describe("Since when the platform is not serving; null if it is, or where that is not known."),
  at: Time.describe("The time of all other figures."),
  stale: z.boolean().describe("The gateway cannot read these figures now; they are the last known ones, from `at`."),
  sample_seconds: z.int().describe("Interval between availability samples."),
  models: z.array(ModelStatus),
  incidents: z
    .array(Incident)
    .describe("Incidents of the last 90 days that lasted at least a minute, newest first, at most 50."),
});

const day = (name: string) => ({
  day: name,
  availability: 0.9993,
  failed_share: 0.002,
  ttft_p50_ms: 180,
  tokens_per_second: 41.5,
});

/** Makes example figures for the 90 days up to the day `last`. */
const daysTo = (last: string) =>
  Array.from({ length: 90 }, (_, i) =>
    day(new Date(Date.parse(last) - (89 - i) * 86_400_000).toISOString().slice(0, 10)),
  );

export const sampleStatus = {
  object: "status",
  as_of: 1_790_000_000,
  state: "serving",
  since: null,
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
  incidents: [
    {
      id: makeSampleId("inc"),
      model: "small-8b",
      state: "down",
      kind: "unavailable",
      from: 1_789_913_580,
      to: 1_789_913_820,
      updates: [{ at: 1_789_913_700, text: "A host lost power. Other hosts are taking over." }],
    },
  ],
};
