/**
 * The NATS subjects of frames: one per direction and pair, so that NATS keeps the order of a node's messages to a gateway. A node's
 * credentials allow exactly `nodePermissions`.
 */

/** Gateway to node: jobs and cancellations. */
export const toNode = (nodeId: string): string => `tg.n.${nodeId}`;
/** Node to one gateway: everything about that gateway's jobs. */
export const toGateway = (gatewayId: string, nodeId: string): string => `tg.g.${gatewayId}.${nodeId}`;
/** Node to every gateway: its state. */
export const nodeState = (nodeId: string): string => `tg.s.${nodeId}`;

/** A gateway's subscription. */
export const gatewayInbox = (gatewayId: string): string => `tg.g.${gatewayId}.*`;
export const ALL_NODE_STATES = "tg.s.*";
/** A gateway that just started asks every node for its state here. */
export const STATE_REQUEST = "tg.q";

/** The node in a subject that a gateway received on; undefined for other subjects. */
export function senderOf(subject: string): string | undefined {
  const parts = subject.split(".");
  if (parts[0] !== "tg") return undefined;
  if (parts[1] === "s" && parts.length === 3) return parts[2];
  if (parts[1] === "g" && parts.length === 4) return parts[3];
  return undefined;
}

export interface SubjectPermissions {
  publish: string[];
  subscribe: string[];
}

export function nodePermissions(nodeId: string): SubjectPermissions {
  return {
    publish: [`tg.g.*.${nodeId}`, nodeState(nodeId)],
    subscribe: [toNode(nodeId), STATE_REQUEST],
  };
}
