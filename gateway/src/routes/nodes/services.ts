/** The parts for node routes: node records, and the nodes connected to this gateway. */

import type { MedianSpeed } from "../../dispatch/node-speeds.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import type { NodeSample } from "../../history/node-presence.ts";
import type { NodeCredentials } from "../../plane/plane.ts";
import type { LengthEvidence } from "../../trust/answer-lengths.ts";
import type { CheckReader } from "../../trust/spot-checks/check-reader.ts";
import type { RecentJobs } from "../../trust/trust.ts";

export interface NodeServices {
  fleet: Fleet;
  /** Notifies every gateway's dispatcher that a node's record changed. */
  nodeChanged: (nodeId: string) => Promise<void>;
  /** The connected nodes as this gateway sees them, by public ID. */
  nodes: ConnectedNodes;
  /** Results of spot checks. */
  checks: CheckReader;
  /** Issues a node's credentials for the dispatch plane. Undefined: the platform has no plane. */
  mint: ((nodeId: string) => Promise<NodeCredentials>) | undefined;
}

interface Capacity {
  nodes: number;
  slots: number;
  busy: number;
}

interface LiveNode {
  slots: number;
  outstanding: number;
  engineSlots: number | null;
  draining: boolean;
  /**
   * Whether the node may receive a prompt before it accepts the job: it is not on probation and has not declined often
   * recently. A node gets no requests if this and `acceptsEarly` are both false.
   */
  inGoodStanding: boolean;
  /** Whether the node accepts a job before it has received the prompt. */
  acceptsEarly: boolean;
}

export interface ConnectedNodes {
  count: () => number;
  /** All connected nodes, each once. */
  all: () => NodeSample[];
  /** The state that the node reports; undefined if it is not connected. */
  find: (nodeId: string) => LiveNode | undefined;
  /** The median speed over all nodes that serve the model. */
  speedOf: (model: string) => MedianSpeed;
  capacityOf: (model: string) => Capacity;
  /** The number of requests at this gateway that wait for a free slot. */
  waitingFor: (model: string) => number;
  /** Whether any node that serves the model has an engine that enforces output formats. */
  keepsFormat: (model: string) => boolean;
  speedOfNode: (nodeId: string, model: string) => MedianSpeed;
  reliabilityOf: (nodeId: string) => RecentJobs;
  /** The models whose answers have unusual lengths on the node. */
  lengthEvidenceOf: (nodeId: string) => LengthEvidence[];
}
