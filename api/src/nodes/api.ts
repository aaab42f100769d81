/** The node API as a whole: its words, and the names of its schemas in the document. */
import { NO_SUCH_REQUEST } from "../faults.ts";
import type { Api } from "../openapi/api.ts";
import { Money, RequestOutcome } from "../values.ts";
import * as answers from "./answers.ts";
import { Elections, NodeRename, Registration, Try } from "./fields.ts";
import * as insight from "./insight.ts";
import { nodeRoutes } from "./routes.ts";

const INTRODUCTION = [
  "What a host's agent and command line speak to. Every call acts for the host account of its token; a node of another account looks the same as one that does not exist.",
  "Bodies are JSON in UTF-8, uncompressed, of at most 10 MiB. In a request body, `null` in a field means that the field is absent, and fields that are not listed here are ignored. Answers may gain fields; ignore what you do not know.",
  "Money is in microdollars, as a decimal string with six digits after the point. Times are Unix seconds.",
  "Every error has the same envelope. Branch on `code`, never on the message. Every response carries `x-request-id`.",
].join("\n\n");

const REQUEST_WORDS = {
  registration: {
    name: "One of a kind among the host's nodes.",
    hardware: "Whatever is worth knowing about the machine.",
    agent: "The agent's own name and version.",
  },
  elections: { models: "Ids of active models; see the list of models that can be elected." },
};

export const nodeApi: Api = {
  title: "Tollgate Node API",
  summary: "What hosts register, elect, run and earn.",
  description: INTRODUCTION,
  tags: [
    { name: "Nodes", description: "Machines that serve requests." },
    { name: "Work", description: "What a node can serve, and how it does." },
    { name: "Money", description: "What it earned." },
  ],
  credential: {
    name: "hostToken",
    scheme: {
      type: "http",
      scheme: "bearer",
      description:
        "`Authorization: Bearer tht_live_<reference>_<secret>`. A missing, malformed, unknown or revoked token is always the same 401.",
    },
  },
  requests: {
    RegisterNodeRequest: { fields: Registration, words: REQUEST_WORDS.registration },
    ElectModelsRequest: { fields: Elections, words: REQUEST_WORDS.elections },
    RenameNodeRequest: { fields: NodeRename, words: { name: REQUEST_WORDS.registration.name } },
    TryNodeRequest: {
      fields: Try,
      words: {
        model: "An active model that the node serves.",
        prompt: "What it is asked; for an embedding model, the text to embed.",
        max_tokens: "Caps the answer.",
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
    NodeTry: answers.NodeTry,
    NodeCredentials: answers.NodeCredentials,
    Earning: answers.Earning,
    EarningList: answers.EarningList,
    NodeInsight: insight.NodeInsight,
    HostInsight: insight.HostInsight,
    InsightPoint: insight.InsightPoint,
    InsightEarning: insight.InsightEarning,
    Job: insight.Job,
    JobList: insight.JobList,
    MarketModel: insight.MarketModel,
    Market: insight.Market,
    Receipt: answers.Receipt,
  },
  tables: [{ tag: "Nodes", routes: nodeRoutes }],
  refusals: { not_found: { faults: [NO_SUCH_REQUEST] } },
};
