/** The console routes for hosts: host tokens and nodes. */
import { z } from "zod";
import { ACTIVE_HOST_TOKENS_MAX } from "../api-limits.ts";
import { Id, makeListSchema, makeSampleId, SAMPLE_TIME, sampleList, Time } from "../common-schemas.ts";
import { refusal, refusalsOfCodes } from "../faults.ts";
import { PageQuery } from "../list-query-fields.ts";
import * as insight from "../nodes/node-activity.ts";
import { ModelElectionFields, NodeRenameFields } from "../nodes/request-fields.ts";
import * as nodes from "../nodes/response-schemas.ts";
import { NODE_PATH_PARAMETER, nodeRoutes } from "../nodes/routes.ts";
import * as samples from "../nodes/sample-responses.ts";
import { declareRoutes, type Route } from "../route-declaration.ts";
import { describeSecretCountLimit, SecretNameFields } from "./keys.ts";

export const HostToken = z.strictObject({
  id: Id("hst"),
  object: z.literal("host_token"),
  name: z.string(),
  start: z.string().describe("The first characters of the token, which identify it and are not secret."),
  created_at: Time,
  last_used_at: Time.nullable(),
  revoked_at: Time.nullable(),
});

const HostTokenList = makeListSchema(HostToken);

const NewHostToken = z.strictObject({
  ...HostToken.shape,
  secret: z.string().describe("The token, `tht_live_<reference>_<secret>`. Shown only once."),
});

export const hostResponseSchemas = {
  HostToken,
  HostTokenList,
  NewHostToken,
  Node: nodes.Node,
  ListedNode: nodes.ListedNode,
  NodeList: nodes.NodeList,
  NodeDetail: nodes.NodeDetail,
  NodeState: nodes.NodeState,
  NodeStats: nodes.NodeStats,
  NodeModel: nodes.NodeModel,
  NodeModelList: nodes.NodeModelList,
  Quarantine: nodes.Quarantine,
  Probation: nodes.Probation,
  Withheld: nodes.NodeWithheldReason,
  Earning: nodes.Earning,
  EarningList: nodes.EarningList,
  WithheldShare: nodes.WithheldShare,
  WithheldList: nodes.WithheldList,
  CheckMethod: nodes.CheckMethod,
  SpotCheck: nodes.SpotCheck,
  SpotCheckList: nodes.SpotCheckList,
  NodeInsight: insight.NodeActivity,
  HostInsight: insight.HostActivity,
  InsightPoint: insight.ActivityPoint,
  InsightEarning: insight.ActivityEarning,
  Job: insight.Job,
  JobList: insight.JobList,
  MarketModel: insight.MarketModel,
  Market: insight.Market,
};

export const hostRequestSchemas = {
  ElectModelsRequest: {
    fields: ModelElectionFields,
    words: { models: "IDs of active models. The list of electable models has them." },
  },
  RenameNodeRequest: { fields: NodeRenameFields, words: { name: "Unique among the host's nodes." } },
};

const sampleToken = {
  id: makeSampleId("hst"),
  object: "host_token",
  name: "workshop",
  start: "tht_live_4fJ2kQ9sZ0aB",
  created_at: SAMPLE_TIME,
  last_used_at: null,
  revoked_at: null,
};

const tokens = declareRoutes({
  listHostTokens: {
    at: "GET /console/api/host-tokens",
    summary: "List host tokens",
    description: "Active tokens, then revoked ones, each newest first.",
    guard: "host",
    query: PageQuery,
    faults: refusalsOfCodes("invalid_cursor"),
    answer: {
      description: "The tokens, without their secrets.",
      json: HostTokenList,
      example: sampleList(sampleToken),
    },
  },
  createHostToken: {
    at: "POST /console/api/host-tokens",
    summary: "Create a host token",
    description: "An account has at most 100 active host tokens.",
    guard: "host",
    needs: "work",
    body: { fields: SecretNameFields, example: { name: "workshop" } },
    answer: {
      status: 201,
      description: "The token with its secret. Store it now: it is not shown again.",
      json: NewHostToken,
      example: { ...sampleToken, secret: `tht_live_4fJ2kQ9sZ0aB_${"…".repeat(3)}` },
    },
    faults: [refusal("limit_reached", describeSecretCountLimit(ACTIVE_HOST_TOKENS_MAX, "host tokens"))],
  },
  revokeHostToken: {
    at: "DELETE /console/api/host-tokens/{id}",
    summary: "Revoke a host token",
    description: "Revocation is permanent. Revoking a revoked token has no effect and succeeds.",
    guard: "host",
    needs: "work",
    path: { id: "The token ID, `hst_…`." },
    answer: {
      description: "The token.",
      json: HostToken,
      example: { ...sampleToken, revoked_at: SAMPLE_TIME + 7200 },
    },
    faults: [refusal("not_found", "No such host token.")],
  },
});

/**
 * Makes a route of the node API available to a person who is signed in to the console. Its fields, answers and errors
 * stay declared in the node API.
 */
function forHost<Of extends Route, const At extends Route["at"]>(route: Of, at: At) {
  const { at: _at, guard: _guard, tag: _tag, ...same } = route;
  return { ...same, at, guard: "host" as const };
}

const fleet = declareRoutes({
  listNodes: forHost(nodeRoutes.listNodes, "GET /console/api/nodes"),
  getNode: {
    at: "GET /console/api/nodes/{id}",
    summary: "Get a node and its statistics",
    guard: "host",
    path: NODE_PATH_PARAMETER,
    answer: {
      description: "The node.",
      json: nodes.NodeDetail,
      example: { ...samples.sampleNode, stats: samples.sampleNodeStats, as_of: SAMPLE_TIME },
    },
    faults: refusalsOfCodes("node_not_found"),
  },
  electModels: { ...forHost(nodeRoutes.electModels, "PUT /console/api/nodes/{id}/elections"), needs: "work" },
  pauseNode: { ...forHost(nodeRoutes.pauseNode, "POST /console/api/nodes/{id}/pause"), needs: "work" },
  resumeNode: { ...forHost(nodeRoutes.resumeNode, "POST /console/api/nodes/{id}/resume"), needs: "work" },
  renameNode: { ...forHost(nodeRoutes.renameNode, "PATCH /console/api/nodes/{id}"), needs: "work" },
  retireNode: { ...forHost(nodeRoutes.retireNode, "POST /console/api/nodes/{id}/retire"), needs: "work" },
  getInsight: forHost(nodeRoutes.getInsight, "GET /console/api/insight"),
  getNodeInsight: forHost(nodeRoutes.getNodeInsight, "GET /console/api/nodes/{id}/insight"),
  listJobs: forHost(nodeRoutes.listJobs, "GET /console/api/nodes/{id}/jobs"),
  listChecks: forHost(nodeRoutes.listChecks, "GET /console/api/nodes/{id}/checks"),
  getMarket: forHost(nodeRoutes.getMarket, "GET /console/api/market"),
  listNodeModels: forHost(nodeRoutes.listModels, "GET /console/api/node-models"),
});

export const hostRoutes = { ...tokens, ...fleet };
