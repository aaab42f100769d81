/** Operators' routes for the nodes of all hosts. */
import { z } from "zod";
import {
  AsOfField,
  Count,
  Id,
  IdField,
  makeListSchema,
  makeSampleId,
  SAMPLE_TIME,
  sampleList,
} from "../common-schemas.ts";
import { NODE_STATES } from "../enumerations.ts";
import { refusal, refusalsOfCodes } from "../faults.ts";
import { PageFields, PageQuery } from "../list-query-fields.ts";
import { ListedNode, Node, NodeStats, SpotCheckList } from "../nodes/response-schemas.ts";
import { sampleListedNode, sampleNode, sampleNodeStats, sampleSpotCheck } from "../nodes/sample-responses.ts";
import { declareRoutes } from "../route-declaration.ts";
import { ReasonFields, SearchText } from "./operator-fields.ts";

export const NodesQuery = z.object({
  ...PageFields,
  q: SearchText.optional(),
  state: z.enum(NODE_STATES, `must be one of ${NODE_STATES.join(", ")}`).optional(),
  host: IdField("acc", "must be a host account's ID (acc_…)").optional(),
});

const owner = {
  account: Id("acc").describe("The host account."),
  account_name: z.string().describe("The host account's name."),
};
const PlatformNode = z.strictObject({ ...Node.shape, ...owner });
const ListedPlatformNode = z.strictObject({ ...ListedNode.shape, ...owner });
const PlatformNodeList = makeListSchema(ListedPlatformNode);
const PlatformNodeDetail = z.strictObject({
  ...PlatformNode.shape,
  stats: NodeStats,
  unusual_lengths: z
    .array(
      z.strictObject({
        model: z.string(),
        compared: Count.describe("Answers that were compared with those of three other nodes."),
        accounts: Count.describe("Builder accounts that requested them."),
        ranks: z
          .array(Count)
          .describe("How many answers were the shortest of the four, the second, third and longest."),
      }),
    )
    .describe(
      "Models whose answers differ in length from those of other hosts, as seen by the gateway that answers since it started. Spot checks are then more frequent.",
    ),
  ...AsOfField,
});

export const operatorNodesResponseSchemas = { PlatformNode, ListedPlatformNode, PlatformNodeList, PlatformNodeDetail };

const sampleOwner = { account: makeSampleId("acc"), account_name: "Barn" };
const samplePlatformNode = { ...sampleNode, ...sampleOwner };
const sampleListed = { ...sampleListedNode, ...sampleOwner };
const NODE_PATH = { id: "The node ID, `node_…`." };

export const operatorNodeRoutes = declareRoutes({
  listPlatformNodes: {
    at: "GET /console/api/operator/nodes",
    summary: "Search all nodes",
    description: "Newest first.",
    guard: "operator",
    query: NodesQuery,
    words: {
      q: "Part of the node's name.",
      state: "Only nodes in this state. `online` means connected to the gateway that answers.",
      host: "Only nodes of this host account, `acc_…`.",
    },
    answer: { description: "A page of nodes.", json: PlatformNodeList, example: sampleList(sampleListed) },
    faults: refusalsOfCodes("invalid_cursor"),
  },
  getPlatformNode: {
    at: "GET /console/api/operator/nodes/{id}",
    summary: "Get any node and its statistics",
    guard: "operator",
    path: NODE_PATH,
    answer: {
      description: "The node.",
      json: PlatformNodeDetail,
      example: {
        ...samplePlatformNode,
        stats: sampleNodeStats,
        unusual_lengths: [{ model: "small-8b", compared: 120, accounts: 6, ranks: [61, 22, 19, 18] }],
        as_of: SAMPLE_TIME,
      },
    },
    faults: refusalsOfCodes("node_not_found"),
  },
  listPlatformNodeChecks: {
    at: "GET /console/api/operator/nodes/{id}/checks",
    summary: "List any node's spot checks",
    description: "The checks that the node's host sees, newest first.",
    guard: "operator",
    path: NODE_PATH,
    query: PageQuery,
    answer: { description: "A page of spot checks.", json: SpotCheckList, example: sampleList(sampleSpotCheck) },
    faults: refusalsOfCodes("node_not_found", "invalid_cursor"),
  },
  quarantineNode: {
    at: "POST /console/api/operator/nodes/{id}/quarantine",
    summary: "Quarantine a node",
    description:
      "The node gets no more requests, and its credentials stop working immediately. The reason is shown to the host.",
    guard: "operator",
    path: NODE_PATH,
    body: { fields: ReasonFields, example: { reason: "answers that its model would not give" } },
    answer: {
      description: "The node.",
      json: PlatformNode,
      example: {
        ...samplePlatformNode,
        state: "quarantined",
        quarantine: { reason: "answers that its model would not give", evidence: {}, at: SAMPLE_TIME },
      },
    },
    faults: refusalsOfCodes("node_not_found", "node_state_conflict"),
  },
  releaseNode: {
    at: "POST /console/api/operator/nodes/{id}/release",
    summary: "Release a node from quarantine",
    description: "The node is then paused until its host resumes it.",
    guard: "operator",
    path: NODE_PATH,
    answer: { description: "The node.", json: PlatformNode, example: { ...samplePlatformNode, state: "paused" } },
    faults: refusalsOfCodes("node_not_found", "node_state_conflict"),
  },
  clearNode: {
    at: "POST /console/api/operator/nodes/{id}/clear",
    summary: "Clear a node despite its host's quarantine",
    description:
      "For a node that gets no requests because another node of its host is in quarantine. An operator has reviewed this node and allows it to serve.",
    guard: "operator",
    path: NODE_PATH,
    answer: { description: "The node.", json: PlatformNode, example: samplePlatformNode },
    faults: [
      ...refusalsOfCodes("node_not_found"),
      refusal("node_state_conflict", "This node is not blocked by a quarantine of its host."),
    ],
  },
});
