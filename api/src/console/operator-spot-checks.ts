/** Spot checks of all nodes: results and costs. */
import { z } from "zod";
import { Count, Id, Money, makeListSchema, makeSampleId, SAMPLE_TIME, sampleList, Time } from "../common-schemas.ts";
import { NodeField } from "../nodes/request-fields.ts";
import { declareRoutes } from "../route-declaration.ts";

export const PlatformSpotChecksQuery = z.object({ node: NodeField.optional() });

const Found = {
  model: z.string(),
  checks: Count,
  bad: Count.describe("Checks that found a bad answer."),
  cost_micro: Money,
};

const NodeChecks = z.strictObject({
  node: Id("node"),
  node_name: z.string(),
  account: Id("acc").describe("The host account."),
  account_name: z.string(),
  ...Found,
  score: z.number().nullable().describe("The median of the scores."),
  evidence: z
    .number()
    .nullable()
    .describe(
      "The evidence of the node's test: an honest node stays near 1. A node whose evidence is too strong is quarantined.",
    ),
  last_at: Time,
});
const ModelChecks = z.strictObject({
  ...Found,
  charged_micro: Money.describe("What builders were charged for the model in the same time."),
});
const PlatformChecks = makeListSchema(NodeChecks, {
  from: Time.describe("Checks since then are counted: 30 days."),
  models: z
    .array(ModelChecks)
    .describe("The same by model, regardless of filters, with the cost of tests of verifiers."),
});

export const operatorSpotChecksResponseSchemas = { NodeChecks, ModelChecks, PlatformChecks };

const sample = { model: "small-8b", checks: 412, bad: 0, cost_micro: "380.120000" };

export const operatorSpotCheckRoutes = declareRoutes({
  listPlatformChecks: {
    at: "GET /console/api/operator/checks",
    summary: "Sum spot checks by node and model",
    description:
      "The nodes and models that spot checks covered in the last 30 days, those with the strongest evidence first; at most 500.",
    guard: "operator",
    query: PlatformSpotChecksQuery,
    words: { node: "Only checks of this node, `node_…`." },
    answer: {
      description: "The sums.",
      json: PlatformChecks,
      example: {
        ...sampleList({
          node: makeSampleId("node"),
          node_name: "workshop-1",
          account: makeSampleId("acc"),
          account_name: "Workshop",
          ...sample,
          score: -0.41,
          evidence: 0.8,
          last_at: SAMPLE_TIME,
        }),
        from: SAMPLE_TIME - 30 * 86_400,
        models: [{ ...sample, charged_micro: "41000.000000" }],
      },
    },
  },
});
