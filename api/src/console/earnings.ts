/** A host's earnings, and signed receipts for single requests. */
import { z } from "zod";
import { Count, Id, Money, makeListSchema, SAMPLE_TIME, sampleList, Time } from "../common-schemas.ts";
import { NO_SUCH_REQUEST, refusalsOfCodes } from "../faults.ts";
import { TimeRangeFields } from "../list-query-fields.ts";
import { EarningsQuery, NodeField, WithheldQuery } from "../nodes/request-fields.ts";
import { EarningList, Receipt, WithheldList } from "../nodes/response-schemas.ts";
import {
  EARNINGS_QUERY_DESCRIPTIONS,
  WITHHELD_EARNINGS_DESCRIPTION,
  WITHHELD_QUERY_DESCRIPTIONS,
} from "../nodes/routes.ts";
import { sampleEarnings, sampleReceipt, sampleWithheldEarnings } from "../nodes/sample-responses.ts";
import { declareRoutes } from "../route-declaration.ts";

/** The ways to group sums of earnings, and to split each sum further. */
export const EARNINGS_GROUPINGS = ["day", "hour", "node", "model"] as const;
export const EARNINGS_SPLIT_FIELDS = ["node", "model"] as const;

export const EarningSumsFields = z.object({
  ...TimeRangeFields,
  node: NodeField.optional(),
  by: z.enum(EARNINGS_GROUPINGS, `must be one of ${EARNINGS_GROUPINGS.join(", ")}`).default("day"),
  split: z.enum(EARNINGS_SPLIT_FIELDS, 'must be "node" or "model"').optional(),
});

const EarningSum = z
  .strictObject({
    day: z.string().optional().describe("The UTC day, such as `2026-11-15`."),
    hour: z.string().optional().describe("The start of the hour, such as `2026-11-15T06:00:00Z`."),
    node: Id("node").optional(),
    model: z.string().optional(),
    requests: Count,
    prompt_tokens: Count,
    completion_tokens: Count,
    earned_micro: Money,
    own_micro: Money.describe("The part earned from requests by the host's own owners."),
  })
  .describe(
    "One sum. It has the field that `by` names (`day`, `hour`, `node` or `model`) and the one that `split` names.",
  );

const EarningSumList = makeListSchema(EarningSum, { by: z.enum(EARNINGS_GROUPINGS), from: Time, to: Time }).refine(
  ({ by, data }) => data.every((row) => row[by] !== undefined),
  "every row must have the field that `by` names",
);

export const earningResponseSchemas = { EarningSum, EarningSumList };

export const earningRoutes = declareRoutes({
  listEarnings: {
    at: "GET /console/api/earnings",
    summary: "List earnings by request",
    description: "Newest first.",
    guard: "host",
    query: EarningsQuery,
    words: EARNINGS_QUERY_DESCRIPTIONS,
    answer: { description: "A page of earnings.", json: EarningList, example: sampleEarnings },
    faults: refusalsOfCodes("invalid_cursor"),
  },
  listWithheld: {
    at: "GET /console/api/withheld",
    summary: "List withheld shares",
    description: WITHHELD_EARNINGS_DESCRIPTION,
    guard: "host",
    query: WithheldQuery,
    words: WITHHELD_QUERY_DESCRIPTIONS,
    answer: {
      description: "A page of withheld shares.",
      json: WithheldList,
      example: sampleList(sampleWithheldEarnings),
    },
    faults: refusalsOfCodes("invalid_cursor"),
  },
  exportEarnings: {
    at: "GET /console/api/earnings.csv",
    summary: "Export earnings by request",
    description:
      "Every request with earnings or a withheld share, newest first, in one CSV file. The host got `earned_micro`, less `taken_back_micro`, plus `released_micro`.",
    guard: "host",
    query: EarningsQuery.omit({ cursor: true, limit: true }),
    words: EARNINGS_QUERY_DESCRIPTIONS,
    answer: {
      description: "The CSV file.",
      csv: {
        description: "A header line, then one comma-separated line per request.",
        example:
          "request_id,finished_at,node,model,outcome,prompt_tokens,completion_tokens,earned_micro,own,withheld_micro,withheld_reason,taken_back_micro,released_micro,released_at\r\n",
      },
      headers: ["content-disposition"],
    },
  },
  sumEarnings: {
    at: "GET /console/api/earnings/sums",
    summary: "Sum earnings",
    description: "Sums cover whole hours. With `by=hour` the time range is at most 31 days.",
    guard: "host",
    query: EarningSumsFields,
    words: {
      ...EARNINGS_QUERY_DESCRIPTIONS,
      by: "How the sums are grouped.",
      split: "A second grouping within each sum.",
      from: "Start of the range, rounded down to the hour: `2026-11-15`, `2026-11-15T06:30:00Z` or Unix seconds. Default: 30 days before `to`.",
      to: "End of the range, in the same formats as `from`. Default: now.",
    },
    answer: {
      description: "The sums, oldest first.",
      json: EarningSumList,
      example: {
        ...sampleList({
          day: "2026-11-15",
          model: "small-8b",
          requests: 1204,
          prompt_tokens: 88_102,
          completion_tokens: 41_377,
          earned_micro: "3877.615000",
          own_micro: "0.000000",
        }),
        by: "day",
        from: SAMPLE_TIME,
        to: SAMPLE_TIME + 86_400,
      },
    },
  },
  getEarningReceipt: {
    at: "GET /console/api/earnings/{id}/receipt",
    summary: "Get the signed receipt of a request that the host served",
    description: "The same receipt that the builder gets. Verify it with the keys at /.well-known/tollgate-receipts.",
    guard: "host",
    path: { id: "The request ID, `req_…`." },
    answer: { description: "The receipt.", json: Receipt, example: sampleReceipt },
    faults: [NO_SUCH_REQUEST],
  },
});
