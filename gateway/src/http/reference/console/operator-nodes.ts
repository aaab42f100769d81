/** Every host's nodes, as operators handle them. */
import { z } from "zod";
import { fault } from "../../../faults.ts";
import { ReasonFields } from "../../console/operator/accounts.ts";
import { NOT_WITHHELD, NodesQuery } from "../../console/operator/nodes.ts";
import { codes } from "../fault-answers.ts";
import { ListedNode, Node, NodeStats } from "../nodes/answers.ts";
import { sampleListedNode, sampleNode, sampleStats } from "../nodes/samples.ts";
import { Id, listOf, SAMPLE_TIME, sampleId, sampleList } from "../values.ts";
import type { ConsoleSpec } from "./access.ts";

const TAG = "Operators: nodes";

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

export const endpoints: ConsoleSpec[] = [
  {
    id: "listPlatformNodes",
    at: "GET /console/api/operator/nodes",
    tag: TAG,
    summary: "Search every host's nodes",
    description: "The newest first.",
    guard: "operator",
    query: NodesQuery,
    words: {
      q: "A part of the node's name.",
      state: "Only nodes in this state, as the gateway that answers sees it.",
      host: "Only nodes of this host's account, `acc_…`.",
    },
    success: { description: "A page of nodes.", json: PlatformNodeList, example: sampleList(sampleListed) },
    faults: codes("invalid_cursor"),
  },
  {
    id: "getPlatformNode",
    at: "GET /console/api/operator/nodes/{id}",
    tag: TAG,
    summary: "Read any node and how it does",
    guard: "operator",
    path: NODE_PATH,
    success: {
      description: "The node.",
      json: PlatformNodeDetail,
      example: { ...samplePlatformNode, stats: sampleStats },
    },
    faults: codes("node_not_found"),
  },
  {
    id: "quarantineNode",
    at: "POST /console/api/operator/nodes/{id}/quarantine",
    tag: TAG,
    summary: "Put a node in quarantine",
    description: "It gets no more work, and its credentials are refused at once. The host reads the reason.",
    guard: "operator",
    path: NODE_PATH,
    body: { fields: ReasonFields, example: { reason: "answers that its model would not give" } },
    success: {
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
  {
    id: "releaseNode",
    at: "POST /console/api/operator/nodes/{id}/release",
    tag: TAG,
    summary: "Release a node from quarantine",
    description: "It is paused then; its host resumes it.",
    guard: "operator",
    path: NODE_PATH,
    success: { description: "The node.", json: PlatformNode, example: { ...samplePlatformNode, state: "paused" } },
    faults: codes("node_not_found", "node_state_conflict"),
  },
  {
    id: "clearNode",
    at: "POST /console/api/operator/nodes/{id}/clear",
    tag: TAG,
    summary: "Let a node work in spite of its host's quarantine",
    description: "For a node that gets no work because another of its host is in quarantine: an operator has looked.",
    guard: "operator",
    path: NODE_PATH,
    success: { description: "The node.", json: PlatformNode, example: samplePlatformNode },
    faults: [...codes("node_not_found"), fault("node_state_conflict", { message: NOT_WITHHELD })],
  },
];
