/** The hub's limits. Nodes are not trusted, so everything they can make the hub store or do is bounded here. */
import { NODE_SUBSCRIPTIONS_MAX, PAYLOAD_BYTES_MAX } from "../credentials/node-credentials.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

export interface HubLimits {
  connectionsMax: number;
  /** Wide, because nodes behind one router or proxy share an address. */
  connectionsPerAddressMax: number;
  /** Above this the connection that has waited longest to authenticate is closed, first from the same address. */
  unauthenticatedMax: number;
  unauthenticatedPerAddressMax: number;
  connectionsPerNodeMax: number;
  /** Per connection, like the limits below. */
  subscriptionsMax: number;
  /**
   * Unsent bytes for a slow reader before it is disconnected. Must hold the largest job (12 MiB in 48 pieces, published at once) and a
   * second one.
   */
  outboundBytesMax: number;
  controlLineBytesMax: number;
  connectLineBytesMax: number;
  payloadBytesMax: number;
  connectDeadlineMs: number;
  pingEveryMs: number;
  pingsOutstandingMax: number;
  /** How long a disconnected peer may take to read the reason. */
  lingerMs: number;
  /** The rate of connections per node, and its burst. */
  connectsPerSecondMax: number;
  connectsBurstMs: number;
  /** A node that sends more than this, over all its connections, is read more slowly; the rest waits on its own machine. */
  operationsPerSecondMax: number;
  /** A ping costs this many operations: idle clients ping rarely. */
  pingOperations: number;
  inboundBytesPerSecondMax: number;
  /** The burst above those rates, as time. */
  burstMs: number;
}

export const HUB_LIMITS: Readonly<HubLimits> = {
  connectionsMax: 10_000,
  connectionsPerAddressMax: 2_000,
  unauthenticatedMax: 256,
  unauthenticatedPerAddressMax: 64,
  connectionsPerNodeMax: 4,
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
