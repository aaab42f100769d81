/**
 * The NATS subjects of frames. There is one subject per direction and pair of gateway and node, so NATS keeps the order
 * of a node's messages to a gateway. A node's credentials allow exactly `nodePermissions`.
 */

/** From a gateway to a node: jobs and cancellations. */
export const nodeSubject = (nodeId: string): string => `tg.n.${nodeId}`;
/** From a node to one gateway: all messages about that gateway's jobs. */
export const gatewaySubject = (gatewayId: string, nodeId: string): string => `tg.g.${gatewayId}.${nodeId}`;
/** From a node to all gateways: the node's state. */
export const nodeStateSubject = (nodeId: string): string => `tg.s.${nodeId}`;

/** The subscription with which a gateway receives messages about its jobs. */
export const gatewayInboxSubject = (gatewayId: string): string => `tg.g.${gatewayId}.*`;
export const ALL_NODE_STATES_SUBJECT = "tg.s.*";
/** A gateway that has just started asks all nodes on this subject to report their state. */
export const STATE_REQUEST_SUBJECT = "tg.q";

/** The sending node of a subject on which a gateway received a message. Undefined for other subjects. */
export function parseSendingNode(subject: string): string | undefined {
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
    publish: [`tg.g.*.${nodeId}`, nodeStateSubject(nodeId)],
    subscribe: [nodeSubject(nodeId), STATE_REQUEST_SUBJECT],
  };
}
