/** A host's side of the console: its tokens and its nodes. */
import { z } from "zod";
import { OPEN_HOST_TOKENS_MAX } from "../bounds.ts";
import { codes, refusal } from "../faults.ts";
import { PageQuery } from "../lists.ts";
import * as nodes from "../nodes/answers.ts";
import { Elections, NodeRename } from "../nodes/fields.ts";
import * as insight from "../nodes/insight.ts";
import { JOBS_ABOUT, MARKET_ABOUT, NODE_MOVE_FAULTS, NODE_RETIRE_WORDS } from "../nodes/routes.ts";
import * as samples from "../nodes/samples.ts";
import { routes } from "../route.ts";
import { Id, listOf, SAMPLE_TIME, sampleId, sampleList, Time } from "../values.ts";
import { SecretName, tooManySecrets } from "./keys.ts";

export const HostToken = z.strictObject({
  id: Id("hst"),
  object: z.literal("host_token"),
  name: z.string(),
  start: z.string().describe("How the token begins: enough to recognise it, and no secret."),
  created_at: Time,
  last_used_at: Time.nullable(),
  revoked_at: Time.nullable(),
});

const HostTokenList = listOf(HostToken);

const NewHostToken = z.strictObject({
  ...HostToken.shape,
  secret: z.string().describe("The token itself, `tht_live_<reference>_<secret>`. Shown here and never again."),
});

export const answers = {
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
  Withheld: nodes.Withheld,
  Earning: nodes.Earning,
  EarningList: nodes.EarningList,
  NodeInsight: insight.NodeInsight,
  HostInsight: insight.HostInsight,
  InsightPoint: insight.InsightPoint,
  InsightEarning: insight.InsightEarning,
  Job: insight.Job,
  JobList: insight.JobList,
  MarketModel: insight.MarketModel,
  Market: insight.Market,
};

export const requests = {
  ElectModelsRequest: {
    fields: Elections,
    words: { models: "Ids of active models; see the list of models that can be elected." },
  },
  RenameNodeRequest: { fields: NodeRename, words: { name: "One of a kind among the host's nodes." } },
};

const sampleToken = {
  id: sampleId("hst"),
  object: "host_token",
  name: "workshop",
  start: "tht_live_4fJ2kQ9sZ0aB",
  created_at: SAMPLE_TIME,
  last_used_at: null,
  revoked_at: null,
};

const NODE_PATH = { id: "The node's id, `node_…`." };

const tokens = routes({
  listHostTokens: {
    at: "GET /console/api/host-tokens",
    summary: "List the host tokens",
    description: "Those that work, then those that were revoked, each the newest first.",
    guard: "host",
    query: PageQuery,
    faults: codes("invalid_cursor"),
    answer: {
      description: "The tokens, without their secrets.",
      json: HostTokenList,
      example: sampleList(sampleToken),
    },
  },
  createHostToken: {
    at: "POST /console/api/host-tokens",
    summary: "Create a host token",
    description: "An account has at most 100 that work.",
    guard: "host",
    needs: "work",
    body: { fields: SecretName, example: { name: "workshop" } },
    answer: {
      status: 201,
      description: "The token, with its secret: keep it now.",
      json: NewHostToken,
      example: { ...sampleToken, secret: `tht_live_4fJ2kQ9sZ0aB_${"…".repeat(3)}` },
    },
    faults: [refusal("limit_reached", tooManySecrets(OPEN_HOST_TOKENS_MAX, "host tokens"))],
  },
  revokeHostToken: {
    at: "DELETE /console/api/host-tokens/{id}",
    summary: "Revoke a host token",
    description: "For good. Revoking what is revoked changes nothing and is no mistake.",
    guard: "host",
    needs: "work",
    path: { id: "The token's id, `hst_…`." },
    answer: {
      description: "The token.",
      json: HostToken,
      example: { ...sampleToken, revoked_at: SAMPLE_TIME + 7200 },
    },
    faults: [refusal("not_found", "No such host token.")],
  },
});

const fleet = routes({
  listNodes: {
    at: "GET /console/api/nodes",
    summary: "List the nodes",
    description: "All of the host's, the oldest first.",
    guard: "host",
    query: PageQuery,
    answer: { description: "A page of nodes.", json: nodes.NodeList, example: sampleList(samples.sampleListedNode) },
    faults: codes("invalid_cursor"),
  },
  getNode: {
    at: "GET /console/api/nodes/{id}",
    summary: "Read a node and how it does",
    guard: "host",
    path: NODE_PATH,
    answer: {
      description: "The node.",
      json: nodes.NodeDetail,
      example: { ...samples.sampleNode, stats: samples.sampleStats },
    },
    faults: codes("node_not_found"),
  },
  electModels: {
    at: "PUT /console/api/nodes/{id}/elections",
    summary: "Elect the models that a node serves",
    description: "Takes the place of what was elected before. An empty list elects none.",
    guard: "host",
    needs: "work",
    path: NODE_PATH,
    body: { fields: Elections, example: { models: ["small-8b"] } },
    answer: { description: "The node.", json: nodes.Node, example: { ...samples.sampleNode, state: "ready" } },
    faults: codes("node_not_found", "node_state_conflict"),
  },
  pauseNode: {
    at: "POST /console/api/nodes/{id}/pause",
    summary: "Pause a node",
    description: "It finishes what it has and is offered nothing more.",
    guard: "host",
    needs: "work",
    path: NODE_PATH,
    answer: { description: "The node.", json: nodes.Node, example: { ...samples.sampleNode, state: "paused" } },
    faults: NODE_MOVE_FAULTS,
  },
  resumeNode: {
    at: "POST /console/api/nodes/{id}/resume",
    summary: "Resume a node",
    guard: "host",
    needs: "work",
    path: NODE_PATH,
    answer: { description: "The node.", json: nodes.Node, example: samples.sampleNode },
    faults: NODE_MOVE_FAULTS,
  },
  renameNode: {
    at: "PATCH /console/api/nodes/{id}",
    summary: "Rename a node",
    guard: "host",
    needs: "work",
    path: NODE_PATH,
    body: { fields: NodeRename, example: { name: "workshop-2" } },
    answer: { description: "The node.", json: nodes.Node, example: { ...samples.sampleNode, name: "workshop-2" } },
    faults: codes("node_not_found", "node_name_taken"),
  },
  retireNode: {
    at: "POST /console/api/nodes/{id}/retire",
    summary: "Retire a node",
    description: NODE_RETIRE_WORDS,
    guard: "host",
    needs: "work",
    path: NODE_PATH,
    answer: { description: "The node.", json: nodes.Node, example: { ...samples.sampleNode, state: "retired" } },
    faults: codes("node_not_found", "node_state_conflict"),
  },
  getInsight: {
    at: "GET /console/api/insight",
    summary: "Read how all nodes did over time",
    description: "All nodes of the account together, and each. A request is counted a few seconds after it ended.",
    guard: "host",
    query: insight.InsightQuery,
    words: insight.INSIGHT_WORDS,
    answer: { description: "The figures.", json: insight.HostInsight, example: insight.sampleHostInsight },
  },
  getNodeInsight: {
    at: "GET /console/api/nodes/{id}/insight",
    summary: "Read how a node did over time",
    description:
      "Utilisation, throughput, failures, speeds and earnings. A request is counted a few seconds after it ended.",
    guard: "host",
    path: NODE_PATH,
    query: insight.InsightQuery,
    words: insight.INSIGHT_WORDS,
    answer: { description: "The figures.", json: insight.NodeInsight, example: insight.sampleNodeInsight },
    faults: codes("node_not_found"),
  },
  listJobs: {
    at: "GET /console/api/nodes/{id}/jobs",
    summary: "List a node's jobs",
    description: JOBS_ABOUT,
    guard: "host",
    path: NODE_PATH,
    query: insight.JobsQuery,
    words: insight.JOBS_WORDS,
    answer: { description: "A page of jobs.", json: insight.JobList, example: sampleList(insight.sampleJob) },
    faults: codes("node_not_found", "invalid_cursor"),
  },
  getMarket: {
    at: "GET /console/api/market",
    summary: "Read what each model could earn",
    description: MARKET_ABOUT,
    guard: "host",
    query: insight.MarketQuery,
    words: insight.MARKET_WORDS,
    answer: { description: "Every active model.", json: insight.Market, example: insight.sampleMarket },
    faults: codes("node_not_found"),
  },
  listNodeModels: {
    at: "GET /console/api/node-models",
    summary: "List the models that can be elected",
    guard: "host",
    answer: {
      description: "Every active model.",
      json: nodes.NodeModelList,
      example: sampleList(samples.sampleModel),
    },
  },
});

export const hostRoutes = { ...tokens, ...fleet };
