/** The node API, used by a host's agent and command line. */

import { makeSampleId, SAMPLE_TIME, sampleList } from "../common-schemas.ts";
import { NO_SUCH_REQUEST, refusal, refusalsOfCodes } from "../faults.ts";
import { PageQuery } from "../list-query-fields.ts";
import { declareRoutes } from "../route-declaration.ts";
import * as insight from "./node-activity.ts";
import {
  EarningsQuery,
  ModelElectionFields,
  NodeRegistrationFields,
  NodeRenameFields,
  TryNodeRequestFields,
  WithheldQuery,
} from "./request-fields.ts";
import * as answers from "./response-schemas.ts";
import * as samples from "./sample-responses.ts";

export const NODE_PATH_PARAMETER = { id: "The node ID, `node_…`." };

export const EARNINGS_QUERY_DESCRIPTIONS = { node: "Only earnings of this node, `node_…`." };
export const WITHHELD_QUERY_DESCRIPTIONS = { node: "Only withheld earnings of this node (`node_…`)." };
export const WITHHELD_EARNINGS_DESCRIPTION =
  "Shares of requests that were not paid because the node failed, stopped sending output, had no first token in a plausible time, or failed a spot check. Newest request first, released ones included.";
const NODE_MOVE_FAULTS = refusalsOfCodes("node_not_found", "node_quarantined", "node_state_conflict");
const NODE_RETIRE_WORDS =
  "Permanent. The node gets no new requests and no new credentials. It finishes its requests and is then disconnected. Its earnings remain. An open quarantine still counts for its host.";
const JOBS_ABOUT =
  "Requests whose last attempt was on this node, newest first, with outcome, tokens, times and earnings. Prompt, output and builder are not included.";
const CHECKS_ABOUT =
  "Answers of the node that were checked by nodes of other hosts, newest first. Checks are kept for 90 days. Which node checked is not shown.";
const MARKET_ABOUT =
  "For every active model: demand, supply, and an estimate of a slot's earnings. Demand is summed over all builders and rounded. Estimates assume that a slot is always busy and are not guaranteed.";

export const nodeRoutes = declareRoutes({
  registerNode: {
    at: "POST /node/v1/nodes",
    summary: "Register a node",
    description:
      "Registering a name that the host already uses updates that node's hardware facts and agent version; everything else stays. The hardware facts are limited to 8 KiB of JSON.",
    guard: "hostToken",
    body: {
      fields: NodeRegistrationFields,
      example: { name: "workshop-1", hardware: { gpu: "RTX 4090", memory_gib: 64 }, agent: "tollgate-host/0.1.0" },
    },
    answer: {
      description: "The node.",
      json: answers.Node,
      example: { ...samples.sampleNode, state: "registered", models: [], probation: { answers: 0, needed: 20 } },
    },
    faults: refusalsOfCodes("too_many_nodes"),
  },
  listNodes: {
    at: "GET /node/v1/nodes",
    summary: "List nodes",
    description: "All nodes of the host, oldest first.",
    guard: "hostToken",
    query: PageQuery,
    answer: { description: "A page of nodes.", json: answers.NodeList, example: sampleList(samples.sampleListedNode) },
    faults: refusalsOfCodes("invalid_cursor"),
  },
  getNode: {
    at: "GET /node/v1/nodes/{id}",
    summary: "Get a node",
    guard: "hostToken",
    path: NODE_PATH_PARAMETER,
    answer: { description: "The node.", json: answers.Node, example: samples.sampleNode },
    faults: refusalsOfCodes("node_not_found"),
  },
  electModels: {
    at: "PUT /node/v1/nodes/{id}/elections",
    summary: "Elect (choose) the models that a node serves",
    description: "Replaces the previous list. An empty list elects no models.",
    guard: "hostToken",
    path: NODE_PATH_PARAMETER,
    body: { fields: ModelElectionFields, example: { models: ["small-8b"] } },
    answer: {
      description: "The node.",
      json: answers.Node,
      example: { ...samples.sampleNode, state: "ready" },
    },
    faults: refusalsOfCodes("node_not_found", "node_state_conflict"),
  },
  pauseNode: {
    at: "POST /node/v1/nodes/{id}/pause",
    summary: "Pause a node",
    description: "The node finishes its requests and gets no new ones.",
    guard: "hostToken",
    path: NODE_PATH_PARAMETER,
    answer: { description: "The node.", json: answers.Node, example: { ...samples.sampleNode, state: "paused" } },
    faults: NODE_MOVE_FAULTS,
  },
  resumeNode: {
    at: "POST /node/v1/nodes/{id}/resume",
    summary: "Resume a node",
    guard: "hostToken",
    path: NODE_PATH_PARAMETER,
    answer: { description: "The node.", json: answers.Node, example: samples.sampleNode },
    faults: NODE_MOVE_FAULTS,
  },
  renameNode: {
    at: "PATCH /node/v1/nodes/{id}",
    summary: "Rename a node",
    guard: "hostToken",
    path: NODE_PATH_PARAMETER,
    body: { fields: NodeRenameFields, example: { name: "workshop-2" } },
    answer: { description: "The node.", json: answers.Node, example: { ...samples.sampleNode, name: "workshop-2" } },
    faults: refusalsOfCodes("node_not_found", "node_name_taken"),
  },
  retireNode: {
    at: "POST /node/v1/nodes/{id}/retire",
    summary: "Retire a node",
    description: NODE_RETIRE_WORDS,
    guard: "hostToken",
    path: NODE_PATH_PARAMETER,
    answer: { description: "The node.", json: answers.Node, example: { ...samples.sampleNode, state: "retired" } },
    faults: refusalsOfCodes("node_not_found", "node_state_conflict"),
  },
  getNodeStats: {
    at: "GET /node/v1/nodes/{id}/stats",
    tag: "Work",
    summary: "Get a node's statistics",
    guard: "hostToken",
    path: NODE_PATH_PARAMETER,
    answer: {
      description: "The node's load, speed, failures and earnings.",
      json: answers.NodeStats,
      example: samples.sampleNodeStats,
    },
    faults: refusalsOfCodes("node_not_found"),
  },
  getInsight: {
    at: "GET /node/v1/insight",
    tag: "Work",
    summary: "Get the figures of all nodes over time",
    description:
      "Figures for all nodes of the account together and for each. Requests appear a few seconds after they end.",
    guard: "hostToken",
    query: insight.ActivityQuery,
    words: insight.ACTIVITY_QUERY_DESCRIPTIONS,
    answer: { description: "The figures.", json: insight.HostActivity, example: insight.sampleHostActivity },
  },
  getNodeInsight: {
    at: "GET /node/v1/nodes/{id}/insight",
    tag: "Work",
    summary: "Get a node's figures over time",
    description: "Utilisation, throughput, failures, speed and earnings. Requests appear a few seconds after they end.",
    guard: "hostToken",
    path: NODE_PATH_PARAMETER,
    query: insight.ActivityQuery,
    words: insight.ACTIVITY_QUERY_DESCRIPTIONS,
    answer: { description: "The figures.", json: insight.NodeActivity, example: insight.sampleNodeActivity },
    faults: refusalsOfCodes("node_not_found"),
  },
  listJobs: {
    at: "GET /node/v1/nodes/{id}/jobs",
    tag: "Work",
    summary: "List a node's jobs",
    description: JOBS_ABOUT,
    guard: "hostToken",
    path: NODE_PATH_PARAMETER,
    query: insight.JobsQuery,
    words: insight.JOBS_QUERY_DESCRIPTIONS,
    answer: { description: "A page of jobs.", json: insight.JobList, example: sampleList(insight.sampleJob) },
    faults: refusalsOfCodes("node_not_found", "invalid_cursor"),
  },
  listChecks: {
    at: "GET /node/v1/nodes/{id}/checks",
    tag: "Work",
    summary: "List a node's spot checks",
    description: CHECKS_ABOUT,
    guard: "hostToken",
    path: NODE_PATH_PARAMETER,
    query: PageQuery,
    answer: {
      description: "A page of spot checks.",
      json: answers.SpotCheckList,
      example: sampleList(samples.sampleSpotCheck),
    },
    faults: refusalsOfCodes("node_not_found", "invalid_cursor"),
  },
  getMarket: {
    at: "GET /node/v1/market",
    tag: "Money",
    summary: "Estimate each model's earnings",
    description: MARKET_ABOUT,
    guard: "hostToken",
    query: insight.MarketQuery,
    words: insight.MARKET_QUERY_DESCRIPTIONS,
    answer: { description: "Every active model.", json: insight.Market, example: insight.sampleMarket },
    faults: refusalsOfCodes("node_not_found"),
  },
  tryNode: {
    at: "POST /node/v1/nodes/{id}/try",
    tag: "Work",
    summary: "Test a node",
    description: "Sends a private request to your own node. It is free, earns nothing and leaves no record.",
    guard: "hostToken",
    path: NODE_PATH_PARAMETER,
    body: {
      fields: TryNodeRequestFields,
      example: { model: "small-8b", prompt: "Name three rivers of Europe.", max_tokens: 64 },
    },
    answer: {
      description: "What the node answered.",
      json: answers.NodeTryResult,
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
      ...refusalsOfCodes("node_not_found"),
      refusal("node_state_conflict", "The node is busy and declined the request. Try again later."),
      refusal("upstream_failed", "The node reported a failure. Check the node's log."),
      refusal("upstream_stall", "The node sent nothing for 2 seconds. Check the node's log."),
    ],
  },
  issueCredentials: {
    at: "POST /node/v1/nodes/{id}/credentials",
    summary: "Get credentials for the dispatch plane",
    description:
      "The credentials that an agent connects with. They are valid for an hour; the agent renews them before that.",
    guard: "hostToken",
    path: NODE_PATH_PARAMETER,
    answer: {
      description: "The credentials. Keep them secret.",
      json: answers.NodeCredentials,
      example: {
        plane_url: "tls://plane.example:4222",
        jwt: "eyJ0eXAiOiJKV1QiLCJhbGciOiJlZDI1NTE5LW5rZXkifQ…",
        seed: "SU…",
        expires_at: SAMPLE_TIME + 3600,
        subjects: { publish: [`node.${makeSampleId("node")}.>`], subscribe: [`job.${makeSampleId("node")}.>`] },
        builds: [{ model: "small-8b", build: "small-8b-q4-1", tokenizer: "llama3" }],
      },
    },
    faults: refusalsOfCodes(
      "node_not_found",
      "node_quarantined",
      "node_state_conflict",
      "no_elected_builds",
      "not_implemented",
      "dispatch_admin_error",
    ),
  },
  listModels: {
    at: "GET /node/v1/models",
    tag: "Work",
    summary: "List electable models",
    guard: "hostToken",
    answer: {
      description: "Every active model.",
      json: answers.NodeModelList,
      example: sampleList(samples.sampleNodeModel),
    },
  },
  listEarnings: {
    at: "GET /node/v1/earnings",
    tag: "Money",
    summary: "List earnings by request",
    description: "Newest first.",
    guard: "hostToken",
    query: EarningsQuery,
    words: EARNINGS_QUERY_DESCRIPTIONS,
    answer: { description: "A page of earnings.", json: answers.EarningList, example: samples.sampleEarnings },
    faults: refusalsOfCodes("invalid_cursor"),
  },
  listWithheld: {
    at: "GET /node/v1/withheld",
    tag: "Money",
    summary: "List withheld shares",
    description: WITHHELD_EARNINGS_DESCRIPTION,
    guard: "hostToken",
    query: WithheldQuery,
    words: WITHHELD_QUERY_DESCRIPTIONS,
    answer: {
      description: "A page of withheld shares.",
      json: answers.WithheldList,
      example: sampleList(samples.sampleWithheldEarnings),
    },
    faults: refusalsOfCodes("invalid_cursor"),
  },
  getReceipt: {
    at: "GET /node/v1/requests/{id}/receipt",
    tag: "Money",
    summary: "Get the signed receipt of a request",
    description: "For a request that a node of this host served.",
    guard: "hostToken",
    path: { id: "The request ID, `req_…`." },
    answer: { description: "The receipt.", json: answers.Receipt, example: samples.sampleReceipt },
    faults: [NO_SUCH_REQUEST],
  },
});
