/** The platform's performance over a period: load, errors, top spenders, nodes with problems, and money. */
import { z } from "zod";
import { AsOfField, Count, Id, Milliseconds, Money, makeSampleId, SAMPLE_TIME, Time } from "../common-schemas.ts";
import { RANGE_END_DESCRIPTION, TimeRangeFields } from "../list-query-fields.ts";
import { declareRoutes } from "../route-declaration.ts";
import {
  DatabaseHistoryLoss,
  LastLedgerCheckResult,
  MoneyTotals,
  sampleLedgerCheckResult,
  sampleMoneyTotals,
} from "./operator-platform.ts";

const RANGES = ["1h", "6h", "24h", "7d", "30d", "90d"] as const;
export const ATTENTION_REASONS = ["failing", "offline", "quarantined", "withheld", "old_agent", "probation"] as const;

export const FractionOrNull = z.number().min(0).max(1).nullable();
const Rate = z.number().min(0).nullable();
const Mean = z.number().min(0).nullable();

const Percentiles = z.strictObject({ p50: Milliseconds, p95: Milliseconds });

export const REQUEST_COUNT_FIELDS = {
  requests: Count.describe("Finished requests, excluding those refused by a rate limit."),
  failed: Count,
  error_share: FractionOrNull.describe(
    "Failed requests as a share of all requests that the client did not cancel. Null if there were none.",
  ),
};
const LOAD = {
  ...REQUEST_COUNT_FIELDS,
  rate_per_s: Rate.describe("Requests per second. Null for a slot that began less than a minute ago."),
  ttft_p95_ms: Milliseconds.describe("95th percentile of the time to first token, of successful requests."),
  nodes: Mean.describe(
    "Average number of connected nodes. Null if not sampled; the same applies to the next two fields.",
  ),
  slots: Mean.describe("Average number of requests that the connected nodes can serve at a time."),
  busy_share: FractionOrNull.describe("Share of slots in use."),
};

const PlatformSlot = z.strictObject({ at: Time.describe("The start of the time slot."), ...LOAD });
const PlatformModel = z.strictObject({
  model: z.string(),
  ...REQUEST_COUNT_FIELDS,
  ttft_ms: Percentiles.describe("For successful requests."),
  duration_ms: Percentiles,
  tokens_per_second: z.number().nullable().describe("Output speed after the first token. Null if there was no output."),
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
      text: z.string().describe("The reason in words."),
      since: Time.nullable().describe(
        "Since when the reason applies, or when the node was last connected; null if not known.",
      ),
    }),
  ),
});

const PlatformPerformance = z.strictObject({
  object: z.literal("platform_performance"),
  ...AsOfField,
  range: z.enum(RANGES),
  from: Time,
  to: Time.describe("The end of the current time slot."),
  slot_s: Count.describe("Length of a time slot, in seconds."),
  total: z.strictObject({ ...LOAD, charge_micro: Money }),
  series: z.array(PlatformSlot).describe("Every time slot, oldest first."),
  models: z.array(PlatformModel).describe("The models with the highest charges first, at most 50."),
  top_accounts: z.array(Spender).describe("The ten accounts with the highest charges."),
  nodes_to_look_at: z.strictObject({
    total: Count,
    data: z.array(NodeToLookAt).describe("Most urgent first, at most 20."),
  }),
  money: MoneyTotals,
  accounts: z.strictObject({ builders: Count, hosts: Count, suspended: Count }),
  books: LastLedgerCheckResult.nullable().describe("The result of the last ledger check; null if none has run."),
  history_losses: z
    .array(DatabaseHistoryLoss)
    .optional()
    .describe("Failovers of the last 30 days that lost data. Absent: none did."),
});

export const operatorPerformanceResponseSchemas = {
  PlatformPerformance,
  PlatformSlot,
  PlatformModel,
  Spender,
  NodeToLookAt,
};

const sampleCounts = { requests: 1204, failed: 8, error_share: 0.006_677 };
const sampleLoad = {
  ...sampleCounts,
  rate_per_s: 0.334,
  ttft_p95_ms: 412,
  nodes: 2,
  slots: 8,
  busy_share: 0.31,
};

export const platformPerformanceRoutes = declareRoutes({
  getPlatformPerformance: {
    at: "GET /console/api/operator/performance",
    summary: "Get the platform's performance",
    description:
      "Load, errors and speed over time and by model, the accounts that spent most, nodes that need attention, money, and the last ledger check. Requests appear a few seconds after they end. Charges are summed by hour: the hour in which the range begins counts in full.",
    guard: "operator",
    query: z.object({
      range: z.enum(RANGES, `must be one of ${RANGES.join(", ")}`).default("24h"),
      to: TimeRangeFields.to,
    }),
    words: {
      range:
        "The time range: slots of 5 minutes for `1h` and `6h`, an hour for `24h` and `7d`, a UTC day for `30d` and `90d`, the current one included.",
      to: RANGE_END_DESCRIPTION,
    },
    answer: {
      description: "The figures.",
      json: PlatformPerformance,
      example: {
        object: "platform_performance",
        as_of: SAMPLE_TIME,
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
          { account: makeSampleId("acc"), name: "Work", requests: 1204, failed: 8, charge_micro: "5539.450000" },
        ],
        nodes_to_look_at: {
          total: 1,
          data: [
            {
              node: makeSampleId("node"),
              name: "attic",
              account: makeSampleId("acc"),
              account_name: "Barn",
              reasons: [
                {
                  code: "offline",
                  text: "The node is not connected, although it is set to serve small-8b.",
                  since: SAMPLE_TIME,
                },
              ],
            },
          ],
        },
        money: sampleMoneyTotals,
        accounts: { builders: 2, hosts: 1, suspended: 0 },
        books: sampleLedgerCheckResult,
        history_losses: [{ at: SAMPLE_TIME, lost_s: 6, entered: 247, missing: 0 }],
      },
    },
  },
});
