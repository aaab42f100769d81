/** The hub's limits. Nodes are not trusted, so this file limits everything that they can make the hub store or do. */
import { NODE_CONNECTIONS_MAX, NODE_SUBSCRIPTIONS_MAX, PAYLOAD_BYTES_MAX } from "../credentials/node-credentials.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

export interface HubLimits {
  connectionsMax: number;
  /** A generous limit, because nodes behind one router or proxy share an address. */
  connectionsPerAddressMax: number;
  /** The limits of unauthenticated connections: in total, and per address. With more, the oldest of them is closed. */
  unauthenticatedMax: number;
  unauthenticatedPerAddressMax: number;
  connectionsPerNodeMax: number;
  /** This limit and those below apply to each connection. */
  subscriptionsMax: number;
  /**
   * The most unsent bytes for a slow reader before it is disconnected. Must hold the largest job (12 MiB in 48 pieces,
   * published at once) and a second one.
   */
  outboundBytesMax: number;
  controlLineBytesMax: number;
  connectLineBytesMax: number;
  payloadBytesMax: number;
  connectDeadlineMs: number;
  pingEveryMs: number;
  pingsOutstandingMax: number;
  /** How long a disconnected peer has to read the reason. */
  lingerMs: number;
  /**
   * The rate of new connections per node. `connectsBurstMs`: a node may make the connections of this many milliseconds
   * at once.
   */
  connectsPerSecondMax: number;
  connectsBurstMs: number;
  /**
   * A node that sends more, over all its connections, is read more slowly. TCP then holds the rest back on the node's
   * machine.
   */
  operationsPerSecondMax: number;
  /** The cost of a ping in operations. High, because idle clients ping rarely. */
  pingOperations: number;
  inboundBytesPerSecondMax: number;
  /**
   * The burst above `operationsPerSecondMax` and `inboundBytesPerSecondMax`: as much as these rates allow in this many
   * milliseconds.
   */
  burstMs: number;
}

export const HUB_LIMITS: Readonly<HubLimits> = {
  connectionsMax: 10_000,
  connectionsPerAddressMax: 2_000,
  unauthenticatedMax: 256,
  unauthenticatedPerAddressMax: 64,
  connectionsPerNodeMax: NODE_CONNECTIONS_MAX,
  subscriptionsMax: NODE_SUBSCRIPTIONS_MAX,
  outboundBytesMax: 32 * MIB,
  controlLineBytesMax: 4 * KIB,
  connectLineBytesMax: 16 * KIB,
  payloadBytesMax: PAYLOAD_BYTES_MAX,
  connectDeadlineMs: 5_000,
  pingEveryMs: 20_000,
  pingsOutstandingMax: 2,
  lingerMs: 1_000,
  connectsPerSecondMax: 2,
  connectsBurstMs: 10_000,
  operationsPerSecondMax: 20_000,
  pingOperations: 50,
  inboundBytesPerSecondMax: 32 * MIB,
  burstMs: 250,
};
