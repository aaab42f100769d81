/** The node API: what a host's agent and command line speak to. */
import { codes, NO_SUCH_REQUEST, refusal } from "../faults.ts";
import { PageQuery } from "../lists.ts";
import { routes } from "../route.ts";
import { SAMPLE_TIME, sampleId, sampleList } from "../values.ts";
import * as answers from "./answers.ts";
import { EarningsQuery, Elections, NodeRename, Registration, Try } from "./fields.ts";
import * as insight from "./insight.ts";
import * as samples from "./samples.ts";

export const NODE_PATH = { id: "The node's id, `node_…`." };

export const EARNINGS_WORDS = { node: "Only what this node earned, `node_…`." };
const NODE_MOVE_FAULTS = codes("node_not_found", "node_quarantined", "node_state_conflict");
const NODE_RETIRE_WORDS =
  "For good: it is offered nothing more and gets no credentials. What it runs, it finishes; then it is disconnected. What it earned stays. An open quarantine still counts for its host.";
const JOBS_ABOUT =
  "Requests whose last attempt was this node's, the newest first: how each ended, its tokens, its times and what it earned. Neither what was asked and answered, nor who asked.";
const MARKET_ABOUT =
  "For every active model: how much builders use it, who serves it, and an estimate of what a slot would earn. Demand is of all builders together, rounded. Estimates are no promise: they take for granted that a slot is never idle.";

export const nodeRoutes = routes({
  registerNode: {
    at: "POST /node/v1/nodes",
    summary: "Register a node",
    description:
      "A name that the host has used before means the same node: its machine and agent are noted anew, everything else stays. The facts of the machine have at most 8 KiB as JSON.",
    guard: "hostToken",
    body: {
      fields: Registration,
      example: { name: "workshop-1", hardware: { gpu: "RTX 4090", memory_gib: 64 }, agent: "tollgate-host/0.1.0" },
    },
    answer: {
      description: "The node.",
      json: answers.Node,
      example: { ...samples.sampleNode, state: "registered", models: [], probation: { answers: 0, needed: 20 } },
    },
    faults: codes("too_many_nodes"),
  },
  listNodes: {
    at: "GET /node/v1/nodes",
    summary: "List the nodes",
    description: "All of the host's, the oldest first.",
    guard: "hostToken",
    query: PageQuery,
    answer: { description: "A page of nodes.", json: answers.NodeList, example: sampleList(samples.sampleListedNode) },
    faults: codes("invalid_cursor"),
  },
  getNode: {
    at: "GET /node/v1/nodes/{id}",
    summary: "Read a node",
    guard: "hostToken",
    path: NODE_PATH,
    answer: { description: "The node.", json: answers.Node, example: samples.sampleNode },
    faults: codes("node_not_found"),
  },
  electModels: {
    at: "PUT /node/v1/nodes/{id}/elections",
    summary: "Elect the models that a node serves",
    description: "Takes the place of what was elected before. An empty list elects none.",
    guard: "hostToken",
    path: NODE_PATH,
    body: { fields: Elections, example: { models: ["small-8b"] } },
    answer: {
      description: "The node.",
      json: answers.Node,
      example: { ...samples.sampleNode, state: "ready" },
    },
    faults: codes("node_not_found", "node_state_conflict"),
  },
  pauseNode: {
    at: "POST /node/v1/nodes/{id}/pause",
    summary: "Pause a node",
    description: "It finishes what it has and is offered nothing more.",
    guard: "hostToken",
    path: NODE_PATH,
    answer: { description: "The node.", json: answers.Node, example: { ...samples.sampleNode, state: "paused" } },
    faults: NODE_MOVE_FAULTS,
  },
  resumeNode: {
    at: "POST /node/v1/nodes/{id}/resume",
    summary: "Resume a node",
    guard: "hostToken",
    path: NODE_PATH,
    answer: { description: "The node.", json: answers.Node, example: samples.sampleNode },
    faults: NODE_MOVE_FAULTS,
  },
  renameNode: {
    at: "PATCH /node/v1/nodes/{id}",
    summary: "Rename a node",
    guard: "hostToken",
    path: NODE_PATH,
    body: { fields: NodeRename, example: { name: "workshop-2" } },
    answer: { description: "The node.", json: answers.Node, example: { ...samples.sampleNode, name: "workshop-2" } },
    faults: codes("node_not_found", "node_name_taken"),
  },
  retireNode: {
    at: "POST /node/v1/nodes/{id}/retire",
    summary: "Retire a node",
    description: NODE_RETIRE_WORDS,
    guard: "hostToken",
    path: NODE_PATH,
    answer: { description: "The node.", json: answers.Node, example: { ...samples.sampleNode, state: "retired" } },
    faults: codes("node_not_found", "node_state_conflict"),
  },
  getNodeStats: {
    at: "GET /node/v1/nodes/{id}/stats",
    tag: "Work",
    summary: "Read how a node does",
    guard: "hostToken",
    path: NODE_PATH,
    answer: {
      description: "Its load, speeds, failures and earnings.",
      json: answers.NodeStats,
      example: samples.sampleStats,
    },
    faults: codes("node_not_found"),
  },
  getInsight: {
    at: "GET /node/v1/insight",
    tag: "Work",
    summary: "Read how all nodes did over time",
    description: "All nodes of the account together, and each. A request is counted a few seconds after it ended.",
    guard: "hostToken",
    query: insight.InsightQuery,
    words: insight.INSIGHT_WORDS,
    answer: { description: "The figures.", json: insight.HostInsight, example: insight.sampleHostInsight },
  },
  getNodeInsight: {
    at: "GET /node/v1/nodes/{id}/insight",
    tag: "Work",
    summary: "Read how a node did over time",
    description:
      "Utilisation, throughput, failures, speeds and earnings. A request is counted a few seconds after it ended.",
    guard: "hostToken",
    path: NODE_PATH,
    query: insight.InsightQuery,
    words: insight.INSIGHT_WORDS,
    answer: { description: "The figures.", json: insight.NodeInsight, example: insight.sampleNodeInsight },
    faults: codes("node_not_found"),
  },
  listJobs: {
    at: "GET /node/v1/nodes/{id}/jobs",
    tag: "Work",
    summary: "List a node's jobs",
    description: JOBS_ABOUT,
    guard: "hostToken",
    path: NODE_PATH,
    query: insight.JobsQuery,
    words: insight.JOBS_WORDS,
    answer: { description: "A page of jobs.", json: insight.JobList, example: sampleList(insight.sampleJob) },
    faults: codes("node_not_found", "invalid_cursor"),
  },
  getMarket: {
    at: "GET /node/v1/market",
    tag: "Money",
    summary: "Read what each model could earn",
    description: MARKET_ABOUT,
    guard: "hostToken",
    query: insight.MarketQuery,
    words: insight.MARKET_WORDS,
    answer: { description: "Every active model.", json: insight.Market, example: insight.sampleMarket },
    faults: codes("node_not_found"),
  },
  tryNode: {
    at: "POST /node/v1/nodes/{id}/try",
    tag: "Work",
    summary: "Try a node",
    description:
      "A private request to one's own node. Nobody pays for it, nobody earns by it, and it leaves no record.",
    guard: "hostToken",
    path: NODE_PATH,
    body: { fields: Try, example: { model: "small-8b", prompt: "Name three rivers of Europe.", max_tokens: 64 } },
    answer: {
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
      refusal("node_state_conflict", "The node is busy: it declined the request."),
      refusal("upstream_failed", "The node reported that it did not finish."),
      refusal("upstream_stall", "The node went quiet for 2 seconds."),
    ],
  },
  issueCredentials: {
    at: "POST /node/v1/nodes/{id}/credentials",
    summary: "Get credentials for the dispatch plane",
    description: "What an agent connects with. They are good for an hour; an agent asks anew before that.",
    guard: "hostToken",
    path: NODE_PATH,
    answer: {
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
  listModels: {
    at: "GET /node/v1/models",
    tag: "Work",
    summary: "List the models that can be elected",
    guard: "hostToken",
    answer: {
      description: "Every active model.",
      json: answers.NodeModelList,
      example: sampleList(samples.sampleModel),
    },
  },
  listEarnings: {
    at: "GET /node/v1/earnings",
    tag: "Money",
    summary: "List what requests earned",
    description: "The newest first, each with the request that earned it.",
    guard: "hostToken",
    query: EarningsQuery,
    words: EARNINGS_WORDS,
    answer: { description: "A page of earnings.", json: answers.EarningList, example: samples.sampleEarnings },
    faults: codes("invalid_cursor"),
  },
  getReceipt: {
    at: "GET /node/v1/requests/{id}/receipt",
    tag: "Money",
    summary: "Get the signed receipt of a request",
    description: "Of a request that a node of this host served.",
    guard: "hostToken",
    path: { id: "The request's id, `req_…`." },
    answer: { description: "The receipt.", json: answers.Receipt, example: samples.sampleReceipt },
    faults: [NO_SUCH_REQUEST],
  },
});
