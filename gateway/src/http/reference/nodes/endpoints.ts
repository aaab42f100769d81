/** The node API, endpoint by endpoint. */
import { fault } from "../../../faults.ts";
import { Elections, OwnNodesQuery, Registration } from "../../nodes/desk.ts";
import { EarningsQuery, Try } from "../../nodes/work.ts";
import type { Access, EndpointSpec } from "../endpoints.ts";
import { codes } from "../fault-answers.ts";
import { SAMPLE_TIME, sampleId, sampleList } from "../values.ts";
import * as answers from "./answers.ts";
import * as samples from "./samples.ts";

const HOST: Access = { open: false, parameters: [], faults: codes("invalid_host_token") };
const NODE_PATH = { id: "The node's id, `node_…`." };

export const EARNINGS_WORDS = { node: "Only what this node earned, `node_…`." };
export const NODE_MOVE_FAULTS = codes("node_not_found", "node_quarantined", "node_state_conflict");

export const nodeEndpoints: EndpointSpec[] = [
  {
    id: "registerNode",
    at: "POST /node/v1/nodes",
    tag: "Nodes",
    summary: "Register a node",
    description:
      "A name that the host has used before means the same node: its machine and agent are noted anew, everything else stays. The facts of the machine have at most 8 KiB as JSON.",
    access: HOST,
    body: {
      fields: Registration,
      example: { name: "workshop-1", hardware: { gpu: "RTX 4090", memory_gib: 64 }, agent: "tollgate-host/0.1.0" },
    },
    success: {
      description: "The node.",
      json: answers.Node,
      example: { ...samples.sampleNode, state: "registered", models: [], probation: { answers: 0, needed: 20 } },
    },
    faults: codes("too_many_nodes"),
  },
  {
    id: "listNodes",
    at: "GET /node/v1/nodes",
    tag: "Nodes",
    summary: "List the nodes",
    description: "All of the host's, the oldest first.",
    access: HOST,
    query: OwnNodesQuery,
    success: { description: "A page of nodes.", json: answers.NodeList, example: sampleList(samples.sampleListedNode) },
    faults: codes("invalid_cursor"),
  },
  {
    id: "getNode",
    at: "GET /node/v1/nodes/{id}",
    tag: "Nodes",
    summary: "Read a node",
    access: HOST,
    path: NODE_PATH,
    success: { description: "The node.", json: answers.Node, example: samples.sampleNode },
    faults: codes("node_not_found"),
  },
  {
    id: "electModels",
    at: "PUT /node/v1/nodes/{id}/elections",
    tag: "Nodes",
    summary: "Elect the models that a node serves",
    description: "Takes the place of what was elected before. An empty list elects none.",
    access: HOST,
    path: NODE_PATH,
    body: { fields: Elections, example: { models: ["small-8b"] } },
    success: {
      description: "The node.",
      json: answers.Node,
      example: { ...samples.sampleNode, state: "ready" },
    },
    faults: codes("node_not_found", "node_state_conflict"),
  },
  {
    id: "pauseNode",
    at: "POST /node/v1/nodes/{id}/pause",
    tag: "Nodes",
    summary: "Pause a node",
    description: "It finishes what it has and is offered nothing more.",
    access: HOST,
    path: NODE_PATH,
    success: { description: "The node.", json: answers.Node, example: { ...samples.sampleNode, state: "paused" } },
    faults: NODE_MOVE_FAULTS,
  },
  {
    id: "resumeNode",
    at: "POST /node/v1/nodes/{id}/resume",
    tag: "Nodes",
    summary: "Resume a node",
    access: HOST,
    path: NODE_PATH,
    success: { description: "The node.", json: answers.Node, example: samples.sampleNode },
    faults: NODE_MOVE_FAULTS,
  },
  {
    id: "getNodeStats",
    at: "GET /node/v1/nodes/{id}/stats",
    tag: "Work",
    summary: "Read how a node does",
    access: HOST,
    path: NODE_PATH,
    success: {
      description: "Its load, speeds, failures and earnings.",
      json: answers.NodeStats,
      example: samples.sampleStats,
    },
    faults: codes("node_not_found"),
  },
  {
    id: "tryNode",
    at: "POST /node/v1/nodes/{id}/try",
    tag: "Work",
    summary: "Try a node",
    description:
      "A private request to one's own node. Nobody pays for it, nobody earns by it, and it leaves no record.",
    access: HOST,
    path: NODE_PATH,
    body: { fields: Try, example: { model: "small-8b", prompt: "Name three rivers of Europe.", max_tokens: 64 } },
    success: {
      description: "What the node answered.",
      json: answers.NodeTry,
      example: {
        object: "node_try",
        model: "small-8b",
        text: "The Danube, the Rhine and the Volga.",
        finish_reason: "stop",
        prompt_tokens: 14,
        completion_tokens: 9,
        ttft_ms: 180.3,
        tps: 41.5,
      },
    },
    faults: [
      ...codes("node_not_found"),
      fault("node_state_conflict", { message: "The node is busy: it declined the request." }),
      fault("upstream_failed", { message: "The node reported that it did not finish." }),
      fault("upstream_stall", { message: "The node went quiet for 2 seconds." }),
    ],
  },
  {
    id: "issueCredentials",
    at: "POST /node/v1/nodes/{id}/credentials",
    tag: "Nodes",
    summary: "Get credentials for the dispatch plane",
    description: "What an agent connects with. They are good for an hour; an agent asks anew before that.",
    access: HOST,
    path: NODE_PATH,
    success: {
      description: "The credentials. They are secret.",
      json: answers.NodeCredentials,
      example: {
        plane_url: "tls://plane.example:4222",
        jwt: "eyJ0eXAiOiJKV1QiLCJhbGciOiJlZDI1NTE5LW5rZXkifQ…",
        seed: "SU…",
        expires_at: SAMPLE_TIME + 3600,
        subjects: { publish: [`node.${sampleId("node")}.>`], subscribe: [`job.${sampleId("node")}.>`] },
        builds: [{ model: "small-8b", build: "small-8b-q4-1", tokenizer: "llama3" }],
      },
    },
    faults: codes(
      "node_not_found",
      "node_quarantined",
      "node_state_conflict",
      "no_elected_builds",
      "not_implemented",
      "dispatch_admin_error",
    ),
  },
  {
    id: "listModels",
    at: "GET /node/v1/models",
    tag: "Work",
    summary: "List the models that can be elected",
    access: HOST,
    success: {
      description: "Every active model.",
      json: answers.NodeModelList,
      example: sampleList(samples.sampleModel),
    },
  },
  {
    id: "listEarnings",
    at: "GET /node/v1/earnings",
    tag: "Money",
    summary: "List what requests earned",
    description: "The newest first, each with the request that earned it.",
    access: HOST,
    query: EarningsQuery,
    words: EARNINGS_WORDS,
    success: { description: "A page of earnings.", json: answers.EarningList, example: samples.sampleEarnings },
    faults: codes("invalid_cursor"),
  },
  {
    id: "getReceipt",
    at: "GET /node/v1/requests/{id}/receipt",
    tag: "Money",
    summary: "Get the signed receipt of a request",
    description: "Of a request that a node of this host served.",
    access: HOST,
    path: { id: "The request's id, `req_…`." },
    success: { description: "The receipt.", json: answers.Receipt, example: samples.sampleReceipt },
    faults: codes("not_found"),
  },
];
