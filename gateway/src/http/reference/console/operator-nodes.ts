/** Every host's nodes, as operators handle them. */
import { z } from "zod";
import { ReasonFields } from "../../console/operator/accounts.ts";
import { codes } from "../fault-answers.ts";
import { Node, NodeStats } from "../nodes/answers.ts";
import { sampleNode, sampleStats } from "../nodes/samples.ts";
import { Id, listOf, SAMPLE_TIME, sampleId, sampleList } from "../values.ts";
import type { ConsoleSpec } from "./access.ts";

const TAG = "Operators: nodes";

const owner = { account: Id("acc").describe("The host's account.") };
const PlatformNode = z.strictObject({ ...Node.shape, ...owner });
const PlatformNodeList = listOf(PlatformNode);
const PlatformNodeDetail = z.strictObject({ ...PlatformNode.shape, stats: NodeStats });

export const answers = { PlatformNode, PlatformNodeList, PlatformNodeDetail };

const samplePlatformNode = { ...sampleNode, account: sampleId("acc") };
const NODE_PATH = { id: "The node's id, `node_…`." };

export const endpoints: ConsoleSpec[] = [
  {
    id: "listPlatformNodes",
    at: "GET /console/api/operator/nodes",
    tag: TAG,
    summary: "List every host's nodes",
    description: "The oldest first, in one page.",
    guard: "operator",
    success: { description: "The nodes.", json: PlatformNodeList, example: sampleList(samplePlatformNode) },
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
];
