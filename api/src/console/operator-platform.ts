/** The platform at a glance, and the proof of its books. */
import { z } from "zod";
import { SpanFields } from "../lists.ts";
import { routes } from "../route.ts";
import { Count, Money, RequestOutcome, SAMPLE_TIME, Time } from "../values.ts";

export const ModelCapacity = z
  .strictObject({
    model: z.string(),
    nodes: Count.describe("Connected nodes that serve it."),
    slots: Count.describe("How many requests they take at once."),
    busy: Count.describe("How many of the slots are taken."),
  })
  .describe("As the gateway that answers sees it.");

export const NodesByState = z
  .record(z.string(), Count)
  .describe("How many nodes are in each state; `online` are those that the gateway which answers is connected to.");

export const MoneyTotals = z.strictObject({
  builder_credit_micro: Money.describe("What builders own."),
  held_micro: Money.describe("What of it is held for requests under way."),
  hosts_owed_micro: Money.describe("What hosts earned and were not paid."),
  liabilities_micro: Money.describe("What builders own and hosts are owed."),
  platform_revenue_micro: Money.describe("What the platform earned since the beginning."),
});

const Overview = z.strictObject({
  object: z.literal("overview"),
  from: Time,
  to: Time,
  money: MoneyTotals,
  accounts: z.strictObject({ builders: Count, hosts: Count, suspended: Count }),
  holds: Count.describe("Requests under way."),
  nodes: NodesByState,
  capacity: z.array(ModelCapacity),
  traffic: z
    .array(
      z.strictObject({
        hour: Time.describe("When the hour begins, Unix time in seconds."),
        outcome: RequestOutcome,
        requests: Count,
        prompt_tokens: Count,
        completion_tokens: Count,
        charge_micro: Money,
      }),
    )
    .describe("By hour and outcome, within the span."),
});

const VERDICT = {
  at: Time,
  asked_by: z.string().describe("An operator's e-mail address, `command line`, or `by itself`."),
  took_ms: Count,
};
export const LastVerdict = z.strictObject({
  ...VERDICT,
  balanced: z.boolean(),
  failed_checks: z.array(z.string()).describe("The names of those that found a difference."),
});

const BooksCheck = z.strictObject({
  object: z.literal("ledger_check"),
  ...VERDICT,
  balanced: z.boolean().describe("Whether nothing differs anywhere."),
  checks: z.array(
    z.strictObject({
      name: z.string(),
      checked: Count.describe("How many things were looked at."),
      differences: z.array(z.string()).describe("What differs, the first few."),
    }),
  ),
});

export const answers = {
  ModelCapacity,
  NodesByState,
  Overview,
  MoneyTotals,
  BooksCheck,
  LastVerdict,
};

export const sampleMoney = {
  builder_credit_micro: "5000000.000000",
  held_micro: "9830.400000",
  hosts_owed_micro: "735000.000000",
  liabilities_micro: "5735000.000000",
  platform_revenue_micro: "315000.000000",
};
const sampleAsked = { at: SAMPLE_TIME, asked_by: "olga@example.com", took_ms: 840 };
export const sampleVerdict = { ...sampleAsked, balanced: true, failed_checks: [] };

const sampleOverview = {
  object: "overview",
  from: SAMPLE_TIME,
  to: SAMPLE_TIME + 86_400,
  money: sampleMoney,
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
export const platformRoutes = routes({
  getOverview: {
    at: "GET /console/api/operator/overview",
    summary: "Read the platform at a glance",
    guard: "operator",
    query: z.object(SpanFields),
    words: {
      from: "The traffic's first hour: `2026-11-15`, `2026-11-15T06:30:00Z` or Unix seconds. By default a day before `to`, at most 31.",
      to: "Where it ends, written like `from`. By default now.",
    },
    answer: {
      description: "Money, accounts, nodes, capacity and traffic.",
      json: Overview,
      example: sampleOverview,
    },
  },
  checkBooks: {
    at: "GET /console/api/operator/ledger/check",
    summary: "Prove the books",
    description:
      "Works every figure out again from what lies below it. Takes a while on a large platform. The verdict is kept.",
    guard: "operator",
    answer: {
      description: "What was checked, and what differs.",
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
