/** A host's side of the console: its tokens and its nodes. */
import { z } from "zod";
import { OPEN_HOST_TOKENS_MAX } from "../bounds.ts";
import { codes, refusal } from "../faults.ts";
import { PageQuery } from "../lists.ts";
import * as nodes from "../nodes/answers.ts";
import { Elections } from "../nodes/fields.ts";
import { NODE_MOVE_FAULTS } from "../nodes/routes.ts";
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
};

export const requests = {
  ElectModelsRequest: {
    fields: Elections,
    words: { models: "Ids of active models; see the list of models that can be elected." },
  },
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
