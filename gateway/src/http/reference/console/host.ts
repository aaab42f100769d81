/** A host's side of the console: its tokens and its nodes. */
import { z } from "zod";
import { fault } from "../../../faults.ts";
import { TooManyOpen } from "../../../keys/keys.ts";
import { SecretName } from "../../console/keys.ts";
import { SecretsQuery } from "../../console/secret-lists.ts";
import { Elections, OwnNodesQuery } from "../../nodes/desk.ts";
import { codes } from "../fault-answers.ts";
import * as nodes from "../nodes/answers.ts";
import { NODE_MOVE_FAULTS } from "../nodes/endpoints.ts";
import * as samples from "../nodes/samples.ts";
import { Id, listOf, SAMPLE_TIME, sampleId, sampleList, Time } from "../values.ts";
import type { ConsoleSpec } from "./access.ts";

const TAG = "Hosting";

const HostToken = z.strictObject({
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

const tokens: ConsoleSpec[] = [
  {
    id: "listHostTokens",
    at: "GET /console/api/host-tokens",
    tag: TAG,
    summary: "List the host tokens",
    description: "Those that work, then those that were revoked, each the newest first.",
    guard: "host",
    query: SecretsQuery,
    faults: codes("invalid_cursor"),
    success: {
      description: "The tokens, without their secrets.",
      json: HostTokenList,
      example: sampleList(sampleToken),
    },
  },
  {
    id: "createHostToken",
    at: "POST /console/api/host-tokens",
    tag: TAG,
    summary: "Create a host token",
    description: "An account has at most 100 that work.",
    guard: "host",
    body: { fields: SecretName, example: { name: "workshop" } },
    success: {
      status: 201,
      description: "The token, with its secret: keep it now.",
      json: NewHostToken,
      example: { ...sampleToken, secret: `tht_live_4fJ2kQ9sZ0aB_${"…".repeat(3)}` },
    },
    faults: [fault("limit_reached", { message: new TooManyOpen("host_token").message })],
  },
  {
    id: "revokeHostToken",
    at: "DELETE /console/api/host-tokens/{id}",
    tag: TAG,
    summary: "Revoke a host token",
    description: "For good. Revoking what is revoked changes nothing and is no mistake.",
    guard: "host",
    path: { id: "The token's id, `hst_…`." },
    success: {
      description: "The token.",
      json: HostToken,
      example: { ...sampleToken, revoked_at: SAMPLE_TIME + 7200 },
    },
    faults: [fault("not_found", { message: "No such host token." })],
  },
];

const fleet: ConsoleSpec[] = [
  {
    id: "listNodes",
    at: "GET /console/api/nodes",
    tag: TAG,
    summary: "List the nodes",
    description: "All of the host's, the oldest first.",
    guard: "host",
    query: OwnNodesQuery,
    success: { description: "A page of nodes.", json: nodes.NodeList, example: sampleList(samples.sampleListedNode) },
    faults: codes("invalid_cursor"),
  },
  {
    id: "getNode",
    at: "GET /console/api/nodes/{id}",
    tag: TAG,
    summary: "Read a node and how it does",
    guard: "host",
    path: NODE_PATH,
    success: {
      description: "The node.",
      json: nodes.NodeDetail,
      example: { ...samples.sampleNode, stats: samples.sampleStats },
    },
    faults: codes("node_not_found"),
  },
  {
    id: "electModels",
    at: "PUT /console/api/nodes/{id}/elections",
    tag: TAG,
    summary: "Elect the models that a node serves",
    description: "Takes the place of what was elected before. An empty list elects none.",
    guard: "host",
    path: NODE_PATH,
    body: { fields: Elections, example: { models: ["small-8b"] } },
    success: { description: "The node.", json: nodes.Node, example: { ...samples.sampleNode, state: "ready" } },
    faults: codes("node_not_found", "node_state_conflict"),
  },
  {
    id: "pauseNode",
    at: "POST /console/api/nodes/{id}/pause",
    tag: TAG,
    summary: "Pause a node",
    description: "It finishes what it has and is offered nothing more.",
    guard: "host",
    path: NODE_PATH,
    success: { description: "The node.", json: nodes.Node, example: { ...samples.sampleNode, state: "paused" } },
    faults: NODE_MOVE_FAULTS,
  },
  {
    id: "resumeNode",
    at: "POST /console/api/nodes/{id}/resume",
    tag: TAG,
    summary: "Resume a node",
    guard: "host",
    path: NODE_PATH,
    success: { description: "The node.", json: nodes.Node, example: samples.sampleNode },
    faults: NODE_MOVE_FAULTS,
  },
  {
    id: "listNodeModels",
    at: "GET /console/api/node-models",
    tag: TAG,
    summary: "List the models that can be elected",
    guard: "host",
    success: {
      description: "Every active model.",
      json: nodes.NodeModelList,
      example: sampleList(samples.sampleModel),
    },
  },
];

export const endpoints: ConsoleSpec[] = [...tokens, ...fleet];
