/** The overview of the platform, and its ledger check. */
import { z } from "zod";
import { AsOfField, Count, Money, RequestOutcome, SAMPLE_TIME, Time } from "../common-schemas.ts";
import { TimeRangeFields } from "../list-query-fields.ts";
import { declareRoutes } from "../route-declaration.ts";

export const ModelCapacity = z
  .strictObject({
    model: z.string(),
    nodes: Count.describe("Number of connected nodes that serve the model."),
    slots: Count.describe("Number of requests that these nodes can serve at a time."),
    busy: Count.describe("How many of the slots are in use."),
  })
  .describe("As seen by the gateway that answers.");

export const NodesByState = z
  .record(z.string(), Count)
  .describe("Number of nodes in each state. `online` nodes are connected to the gateway that answers.");

export const MoneyTotals = z.strictObject({
  builder_credit_micro: Money.describe("Total balance of all builders."),
  held_micro: Money.describe("The part of it that is held for requests in flight."),
  hosts_owed_micro: Money.describe("Earned by hosts and not paid out yet."),
  liabilities_micro: Money.describe("The sum of builder balances and amounts owed to hosts."),
  platform_revenue_micro: Money.describe("The platform's total revenue."),
});

const Overview = z.strictObject({
  object: z.literal("overview"),
  ...AsOfField,
  from: Time,
  to: Time,
  money: MoneyTotals,
  accounts: z.strictObject({ builders: Count, hosts: Count, suspended: Count }),
  holds: Count.describe("Requests in flight."),
  nodes: NodesByState,
  capacity: z.array(ModelCapacity),
  traffic: z
    .array(
      z.strictObject({
        hour: Time.describe("Start of the hour, in Unix seconds."),
        outcome: RequestOutcome,
        requests: Count,
        prompt_tokens: Count,
        completion_tokens: Count,
        charge_micro: Money,
      }),
    )
    .describe("By hour and outcome, within the time range."),
});

const VERDICT = {
  at: Time,
  asked_by: z.string().describe("An operator's email address, `command line`, or `by itself` for the scheduled check."),
  took_ms: Count,
};
export const LastLedgerCheckResult = z.strictObject({
  ...VERDICT,
  balanced: z.boolean(),
  failed_checks: z.array(z.string()).describe("The names of the checks that found a difference."),
});

export const DatabaseHistoryLoss = z.strictObject({
  at: Time,
  lost_s: Count.describe("About how many seconds of the database's history the failover lost."),
  entered: Count.describe("Charges and changes that gateways entered again from their journals."),
  missing: Count.describe("Those that they could not; `tollgate admin history losses` lists them."),
});

const BooksCheck = z.strictObject({
  object: z.literal("ledger_check"),
  ...VERDICT,
  balanced: z.boolean().describe("Whether no check found a difference."),
  checks: z.array(
    z.strictObject({
      name: z.string(),
      checked: Count.describe("Number of objects checked."),
      differences: z.array(z.string()).describe("The first differences found."),
    }),
  ),
});

export const operatorPlatformResponseSchemas = {
  ModelCapacity,
  NodesByState,
  Overview,
  MoneyTotals,
  BooksCheck,
  LastVerdict: LastLedgerCheckResult,
  HistoryLoss: DatabaseHistoryLoss,
};

export const sampleMoneyTotals = {
  builder_credit_micro: "5000000.000000",
  held_micro: "9830.400000",
  hosts_owed_micro: "735000.000000",
  liabilities_micro: "5735000.000000",
  platform_revenue_micro: "315000.000000",
};
const sampleAsked = { at: SAMPLE_TIME, asked_by: "olga@example.com", took_ms: 840 };
export const sampleLedgerCheckResult = { ...sampleAsked, balanced: true, failed_checks: [] };

const sampleOverview = {
  object: "overview",
  as_of: SAMPLE_TIME,
  from: SAMPLE_TIME,
  to: SAMPLE_TIME + 86_400,
  money: sampleMoneyTotals,
  accounts: { builders: 2, hosts: 1, suspended: 0 },
  holds: 1,
  nodes: { online: 2, paused: 1 },
  capacity: [{ model: "small-8b", nodes: 2, slots: 8, busy: 1 }],
  traffic: [
    {
      hour: SAMPLE_TIME,
      outcome: "ok",
      requests: 1204,
      prompt_tokens: 88_102,
      completion_tokens: 41_377,
      charge_micro: "5539.450000",
    },
  ],
};
export const platformRoutes = declareRoutes({
  getOverview: {
    at: "GET /console/api/operator/overview",
    summary: "Get the platform overview",
    guard: "operator",
    query: z.object(TimeRangeFields),
    words: {
      from: "First hour of the traffic figures: `2026-11-15`, `2026-11-15T06:30:00Z` or Unix seconds. Default: one day before `to`; at most 31 days.",
      to: "End of the traffic figures, in the same formats as `from`. Default: now.",
    },
    answer: {
      description: "Money, accounts, nodes, capacity and traffic.",
      json: Overview,
      example: sampleOverview,
    },
  },
  checkLedger: {
    at: "GET /console/api/operator/ledger/check",
    summary: "Check the ledger",
    description:
      "Recomputes every figure of the ledger from the records below it. This can take minutes on a large platform. The result is stored.",
    guard: "operator",
    answer: {
      description: "The checks and the differences found.",
      json: BooksCheck,
      example: {
        object: "ledger_check",
        ...sampleAsked,
        balanced: true,
        checks: [{ name: "every balance is the sum of its entries", checked: 12, differences: [] }],
      },
    },
  },
});
