/** Nodes for routes: their records, and this gateway's view of connected ones. */

import type { MedianSpeed } from "../../dispatch/speeds.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import type { SeenNode } from "../../history/presence.ts";
import type { NodeCredentials } from "../../plane/plane.ts";
import type { CheckReader } from "../../trust/spot-checks/reader.ts";
import type { Standing } from "../../trust/trust.ts";

export interface NodeParts {
  fleet: Fleet;
  /** The records of a node changed: every gateway's dispatcher must look again. */
  nodeChanged: (nodeId: string) => Promise<void>;
  /** The nodes as this gateway sees them, by their public ids. */
  nodes: ConnectedNodes;
  /** Results of spot checks. */
  checks: CheckReader;
  /** Credentials for the dispatch plane. Undefined: the platform has none. */
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
  /** The node gets requests if at least one of these is true. */
  inGoodStanding: boolean;
  acceptsEarly: boolean;
}

export interface ConnectedNodes {
  count: () => number;
  /** All connected nodes, each once. */
  all: () => SeenNode[];
  /** The node as it reports itself; undefined when it is not connected. */
  find: (nodeId: string) => LiveNode | undefined;
  /** The median speed over all nodes that serve the model. */
  speedOf: (model: string) => MedianSpeed;
  capacityOf: (model: string) => Capacity;
  /** Requests of this gateway that wait for a free slot. */
  waitingFor: (model: string) => number;
  /** Whether an engine of the model's nodes enforces an output format. */
  keepsFormat: (model: string) => boolean;
  speedOfNode: (nodeId: string, model: string) => MedianSpeed;
  reliabilityOf: (nodeId: string) => Standing;
}
