/** How the platform did over a span: its load, its errors, who spent, which nodes need a look, and its money. */
import { z } from "zod";
import { routes } from "../route.ts";
import { Count, Id, Milliseconds, Money, SAMPLE_TIME, sampleId, Time } from "../values.ts";
import { LastVerdict, MoneyTotals, sampleMoney, sampleVerdict } from "./operator-platform.ts";

const RANGES = ["1h", "6h", "24h", "7d", "30d", "90d"] as const;
export const ATTENTION_REASONS = ["failing", "offline", "quarantined", "withheld", "old_agent", "probation"] as const;

export const Share = z.number().min(0).max(1).nullable();
const Rate = z.number().min(0).nullable();
const Mean = z.number().min(0).nullable();

const Percentiles = z.strictObject({ p50: Milliseconds, p95: Milliseconds });

export const COUNTS = {
  requests: Count.describe("Those that ended, without those that a limit refused."),
  failed: Count,
  error_share: Share.describe("The failed ones, of all whose client stayed to the end. Null of none."),
};
const LOAD = {
  ...COUNTS,
  rate_per_s: Rate.describe("Requests per second. Null of a slot that began less than a minute ago."),
  ttft_p95_ms: Milliseconds.describe("95 of 100 answers that ended well had their first token by then."),
  nodes: Mean.describe("Connected ones, on average. Null where nobody looked, here and below."),
  slots: Mean.describe("How many requests they take at once, each node counted once whatever it serves; on average."),
  busy_share: Share.describe("How much of the slots was taken."),
};

const PlatformSlot = z.strictObject({ at: Time.describe("When the slot of time begins."), ...LOAD });
const PlatformModel = z.strictObject({
  model: z.string(),
  ...COUNTS,
  ttft_ms: Percentiles.describe("Of answers that ended well."),
  duration_ms: Percentiles,
  tokens_per_second: z.number().nullable().describe("Of output after its first token. Null without any."),
  charge_micro: Money,
});
const Spender = z.strictObject({
  account: Id("acc"),
  name: z.string(),
  requests: Count,
  failed: Count,
  charge_micro: Money,
});
const NodeToLookAt = z.strictObject({
  node: Id("node"),
  name: z.string(),
  account: Id("acc"),
  account_name: z.string(),
  reasons: z.array(
    z.strictObject({
      code: z.enum(ATTENTION_REASONS),
      text: z.string().describe("In words."),
      since: Time.nullable().describe("Since when, or when it was last seen; null where that is not known."),
    }),
  ),
});

const PlatformPerformance = z.strictObject({
  object: z.literal("platform_performance"),
  range: z.enum(RANGES),
  from: Time,
  to: Time.describe("When the slot of time ends that is running."),
  slot_s: Count.describe("How long a slot of time is."),
  total: z.strictObject({ ...LOAD, charge_micro: Money }),
  series: z.array(PlatformSlot).describe("Every slot of time, the oldest first."),
  models: z.array(PlatformModel).describe("Those that charged most first, at most 50."),
  top_accounts: z.array(Spender).describe("The ten that were charged most."),
  nodes_to_look_at: z.strictObject({
    total: Count,
    data: z.array(NodeToLookAt).describe("The most pressing first, at most 20."),
  }),
  money: MoneyTotals,
  accounts: z.strictObject({ builders: Count, hosts: Count, suspended: Count }),
  books: LastVerdict.nullable().describe("The last verdict on the books; null while they were never proved."),
});

export const answers = { PlatformPerformance, PlatformSlot, PlatformModel, Spender, NodeToLookAt };

const sampleCounts = { requests: 1204, failed: 8, error_share: 0.006_677 };
const sampleLoad = {
  ...sampleCounts,
  rate_per_s: 0.334,
  ttft_p95_ms: 412,
  nodes: 2,
  slots: 8,
  busy_share: 0.31,
};

export const platformPerformanceRoutes = routes({
  getPlatformPerformance: {
    at: "GET /console/api/operator/performance",
    summary: "Read how the platform did",
    description:
      "Load, errors and speed over time and by model, who spent, which nodes need a look, money and the last verdict on the books. A request is counted a few seconds after it ended. What was charged is summed up by the hour: the hour in which the span begins counts whole.",
    guard: "operator",
    query: z.object({ range: z.enum(RANGES, `must be one of ${RANGES.join(", ")}`).default("24h") }),
    words: {
      range:
        "How far back: in slots of 5 minutes (`1h`, `6h`), an hour (`24h`, `7d`) or a UTC day (`30d`, `90d`), the running one among them.",
    },
    answer: {
      description: "The figures.",
      json: PlatformPerformance,
      example: {
        object: "platform_performance",
        range: "24h",
        from: SAMPLE_TIME,
        to: SAMPLE_TIME + 86_400,
        slot_s: 3600,
        total: { ...sampleLoad, charge_micro: "5539.450000" },
        series: [{ at: SAMPLE_TIME, ...sampleLoad }],
        models: [
          {
            model: "small-8b",
            ...sampleCounts,
            ttft_ms: { p50: 181, p95: 412 },
            duration_ms: { p50: 1238, p95: 4120 },
            tokens_per_second: 41.5,
            charge_micro: "5539.450000",
          },
        ],
        top_accounts: [
          { account: sampleId("acc"), name: "Work", requests: 1204, failed: 8, charge_micro: "5539.450000" },
        ],
        nodes_to_look_at: {
          total: 1,
          data: [
            {
              node: sampleId("node"),
              name: "attic",
              account: sampleId("acc"),
              account_name: "Barn",
              reasons: [
                { code: "offline", text: "Not connected, though it is to serve small-8b.", since: SAMPLE_TIME },
              ],
            },
          ],
        },
        money: sampleMoney,
        accounts: { builders: 2, hosts: 1, suspended: 0 },
        books: sampleVerdict,
      },
    },
  },
});
