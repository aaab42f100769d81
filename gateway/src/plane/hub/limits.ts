/** The hub's bounds. No one vouches for a node: whatever one of them can make the hub hold or do has a number here. */
import { NODE_SUBSCRIPTIONS_MAX, PAYLOAD_BYTES_MAX } from "../credentials/node-credentials.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

export interface HubLimits {
  connectionsMax: number;
  /** Nodes behind one router, or all of them behind one proxy, share an address: wide. */
  connectionsPerAddressMax: number;
  /** Beyond these the connection that has waited longest to authenticate makes room, of the same address first. */
  unauthenticatedMax: number;
  unauthenticatedPerAddressMax: number;
  connectionsPerNodeMax: number;
  /** Per connection, like everything below. */
  subscriptionsMax: number;
  /**
   * Bytes that wait for a slow reader before it is cut. Must hold the largest job (12 MiB in 48 pieces, published in one
   * go) with room for a second one beside it.
   */
  outboundBytesMax: number;
  controlLineBytesMax: number;
  connectLineBytesMax: number;
  payloadBytesMax: number;
  connectDeadlineMs: number;
  pingEveryMs: number;
  pingsOutstandingMax: number;
  /** How long a connection that was cut may take to read why. */
  lingerMs: number;
  /** How often one node may connect, and how far ahead of that rate it may run. */
  connectsPerSecondMax: number;
  connectsBurstMs: number;
  /**
   * A node that sends more than this, on all its connections together, is read more slowly; the rest of it waits on its own
   * machine.
   */
  operationsPerSecondMax: number;
  /** Beside them a ping counts as so many: a client that has nothing to say pings once in a while. */
  pingOperations: number;
  inboundBytesPerSecondMax: number;
  /** How far ahead of those rates it may run. */
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
