/** A host's earnings for charts, and the signed receipts of the requests that earned. */
import { z } from "zod";
import { EARNINGS_BY } from "../../../history/earning-sums.ts";
import { EarningSumsFields } from "../../console/earnings.ts";
import { codes } from "../fault-answers.ts";
import { Receipt } from "../nodes/answers.ts";
import { EARNINGS_WORDS } from "../nodes/endpoints.ts";
import { sampleReceipt } from "../nodes/samples.ts";
import { Count, Id, listOf, Money, SAMPLE_TIME, sampleList, Time } from "../values.ts";
import type { ConsoleSpec } from "./access.ts";

const TAG = "Hosting";

const EarningSum = z
  .strictObject({
    day: z.string().optional().describe("In UTC, such as `2026-11-15`."),
    hour: z.string().optional().describe("When it begins, such as `2026-11-15T06:00:00Z`."),
    node: Id("node").optional(),
    model: z.string().optional(),
    requests: Count,
    prompt_tokens: Count,
    completion_tokens: Count,
    earned_micro: Money,
  })
  .describe(
    "One sum. It has the one of `day` and `hour` that `by` names, and the one of `node` and `model` that `split` names.",
  );

const EarningSumList = listOf(EarningSum, { by: z.enum(EARNINGS_BY), from: Time, to: Time }).refine(
  ({ by, data }) => data.every((row) => row[by] !== undefined),
  "every row has the field that `by` names",
);

export const answers = { EarningSum, EarningSumList };

export const endpoints: ConsoleSpec[] = [
  {
    id: "sumEarnings",
    at: "GET /console/api/earnings/sums",
    tag: TAG,
    summary: "Sum up what was earned",
    description: "Sums are of whole hours. By the hour a span has at most 31 days.",
    guard: "host",
    query: EarningSumsFields,
    words: {
      ...EARNINGS_WORDS,
      by: "What each sum is of.",
      split: "What every sum is split by further.",
      from: "The sums' first hour: `2026-11-15`, `2026-11-15T06:30:00Z` or Unix seconds. By default 30 days before `to`.",
      to: "Where they end, written like `from`. By default now.",
    },
    success: {
      description: "The sums, in the order of time.",
      json: EarningSumList,
      example: {
        ...sampleList({
          day: "2026-11-15",
          model: "small-8b",
          requests: 1204,
          prompt_tokens: 88_102,
          completion_tokens: 41_377,
          earned_micro: "3877.615000",
        }),
        by: "day",
        from: SAMPLE_TIME,
        to: SAMPLE_TIME + 86_400,
      },
    },
  },
  {
    id: "getEarningReceipt",
    at: "GET /console/api/earnings/{id}/receipt",
    tag: TAG,
    summary: "Get the signed receipt of a request that earned",
    description: "The same one that the builder gets. The keys to check it with are at /.well-known/tollgate-receipts.",
    guard: "host",
    path: { id: "The request's id, `req_…`." },
    success: { description: "The receipt.", json: Receipt, example: sampleReceipt },
    faults: codes("not_found"),
  },
];
