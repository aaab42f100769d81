/** The node API: its description, and its schemas' names in the API document. */

import { Money, RequestOutcome } from "../common-schemas.ts";
import { NO_SUCH_REQUEST } from "../faults.ts";
import type { Api } from "../openapi/api-declaration.ts";
import * as insight from "./node-activity.ts";
import {
  ModelElectionFields,
  NodeRegistrationFields,
  NodeRenameFields,
  TryNodeRequestFields,
} from "./request-fields.ts";
import * as answers from "./response-schemas.ts";
import { nodeRoutes } from "./routes.ts";

const INTRODUCTION = [
  "The API for a host's agent and command line. Each call acts for the host account of its token. A node of another account is treated as one that does not exist.",
  "Request bodies are JSON in UTF-8, uncompressed, at most 10 MiB. In a request body, `null` means that the field is absent, and unlisted fields are ignored. Responses may gain fields; ignore the ones you do not know.",
  "Amounts are in microdollars, as a decimal string with six digits after the point. Times are Unix seconds.",
  "All errors have the same envelope. Branch on `code`, never on the message. Every response carries `x-request-id`.",
].join("\n\n");

const REQUEST_WORDS = {
  registration: {
    name: "Unique among the host's nodes.",
    hardware: "Facts about the machine, as free-form JSON.",
    agent: "The agent's name and version.",
  },
  elections: { models: "IDs of active models. The list of electable models has them." },
};

export const nodeApi: Api = {
  title: "Tollgate Node API",
  summary: "Register nodes, elect (choose) models, connect to the dispatch plane and read earnings.",
  description: INTRODUCTION,
  tags: [
    { name: "Nodes", description: "Register, configure and inspect nodes." },
    { name: "Work", description: "The models that a node can serve, and its statistics." },
    { name: "Money", description: "What a host's nodes earned." },
  ],
  credential: {
    name: "hostToken",
    scheme: {
      type: "http",
      scheme: "bearer",
      description:
        "`Authorization: Bearer tht_live_<reference>_<secret>`. A missing, malformed, unknown or revoked token always gets the same 401.",
    },
  },
  requests: {
    RegisterNodeRequest: { fields: NodeRegistrationFields, words: REQUEST_WORDS.registration },
    ElectModelsRequest: { fields: ModelElectionFields, words: REQUEST_WORDS.elections },
    RenameNodeRequest: { fields: NodeRenameFields, words: { name: REQUEST_WORDS.registration.name } },
    TryNodeRequest: {
      fields: TryNodeRequestFields,
      words: {
        model: "An active model that the node serves.",
        prompt: "The prompt or, for an embedding model, the text to embed.",
        max_tokens: "Maximum number of output tokens.",
      },
    },
  },
  answers: {
    Money,
    RequestOutcome,
    Node: answers.Node,
    NodeList: answers.NodeList,
    NodeState: answers.NodeState,
    Quarantine: answers.Quarantine,
    NodeStats: answers.NodeStats,
    NodeModel: answers.NodeModel,
    NodeModelList: answers.NodeModelList,
    NodeTry: answers.NodeTryResult,
    NodeCredentials: answers.NodeCredentials,
    Earning: answers.Earning,
    WithheldShare: answers.WithheldShare,
    WithheldList: answers.WithheldList,
    CheckMethod: answers.CheckMethod,
    SpotCheck: answers.SpotCheck,
    SpotCheckList: answers.SpotCheckList,
    EarningList: answers.EarningList,
    NodeInsight: insight.NodeActivity,
    HostInsight: insight.HostActivity,
    InsightPoint: insight.ActivityPoint,
    InsightEarning: insight.ActivityEarning,
    Job: insight.Job,
    JobList: insight.JobList,
    MarketModel: insight.MarketModel,
    Market: insight.Market,
    Receipt: answers.Receipt,
  },
  tables: [{ tag: "Nodes", routes: nodeRoutes }],
  refusals: { not_found: { faults: [NO_SUCH_REQUEST] } },
};
