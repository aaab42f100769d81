/** Every host's nodes, as operators handle them. */
import { z } from "zod";
import { codes, refusal } from "../faults.ts";
import { PageFields } from "../lists.ts";
import { ListedNode, Node, NodeStats } from "../nodes/answers.ts";
import { sampleListedNode, sampleNode, sampleStats } from "../nodes/samples.ts";
import { routes } from "../route.ts";
import { NODE_STATES } from "../states.ts";
import { Id, IdField, listOf, SAMPLE_TIME, sampleId, sampleList } from "../values.ts";
import { ReasonFields, SearchText } from "./operator-fields.ts";

export const NodesQuery = z.object({
  ...PageFields,
  q: SearchText.optional(),
  state: z.enum(NODE_STATES, `must be one of ${NODE_STATES.join(", ")}`).optional(),
  host: IdField("acc", "must be a host account's id (acc_…)").optional(),
});

const owner = { account: Id("acc").describe("The host's account."), account_name: z.string().describe("Its name.") };
const PlatformNode = z.strictObject({ ...Node.shape, ...owner });
const ListedPlatformNode = z.strictObject({ ...ListedNode.shape, ...owner });
const PlatformNodeList = listOf(ListedPlatformNode);
const PlatformNodeDetail = z.strictObject({ ...PlatformNode.shape, stats: NodeStats });

export const answers = { PlatformNode, ListedPlatformNode, PlatformNodeList, PlatformNodeDetail };

const sampleOwner = { account: sampleId("acc"), account_name: "Barn" };
const samplePlatformNode = { ...sampleNode, ...sampleOwner };
const sampleListed = { ...sampleListedNode, ...sampleOwner };
const NODE_PATH = { id: "The node's id, `node_…`." };

export const operatorNodeRoutes = routes({
  listPlatformNodes: {
    at: "GET /console/api/operator/nodes",
    summary: "Search every host's nodes",
    description: "The newest first.",
    guard: "operator",
    query: NodesQuery,
    words: {
      q: "A part of the node's name.",
      state: "Only nodes in this state, as the gateway that answers sees it.",
      host: "Only nodes of this host's account, `acc_…`.",
    },
    answer: { description: "A page of nodes.", json: PlatformNodeList, example: sampleList(sampleListed) },
    faults: codes("invalid_cursor"),
  },
  getPlatformNode: {
    at: "GET /console/api/operator/nodes/{id}",
    summary: "Read any node and how it does",
    guard: "operator",
    path: NODE_PATH,
    answer: {
      description: "The node.",
      json: PlatformNodeDetail,
      example: { ...samplePlatformNode, stats: sampleStats },
    },
    faults: codes("node_not_found"),
  },
  quarantineNode: {
    at: "POST /console/api/operator/nodes/{id}/quarantine",
    summary: "Put a node in quarantine",
    description: "It gets no more work, and its credentials are refused at once. The host reads the reason.",
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
    faults: codes("node_not_found", "node_state_conflict"),
  },
  releaseNode: {
    at: "POST /console/api/operator/nodes/{id}/release",
    summary: "Release a node from quarantine",
    description: "It is paused then; its host resumes it.",
    guard: "operator",
    path: NODE_PATH,
    answer: { description: "The node.", json: PlatformNode, example: { ...samplePlatformNode, state: "paused" } },
    faults: codes("node_not_found", "node_state_conflict"),
  },
  clearNode: {
    at: "POST /console/api/operator/nodes/{id}/clear",
    summary: "Let a node work in spite of its host's quarantine",
    description: "For a node that gets no work because another of its host is in quarantine: an operator has looked.",
    guard: "operator",
    path: NODE_PATH,
    answer: { description: "The node.", json: PlatformNode, example: samplePlatformNode },
    faults: [
      ...codes("node_not_found"),
      refusal("node_state_conflict", "Nothing of its host keeps this node from work."),
    ],
  },
});
