/**
 * Computes how many gateways, databases and other parts a rate of requests needs, from the measured cost of one
 * request.
 */
import { ASSUMED_INPUTS, MEASURED_INPUTS, REPORTS_PER_NODE_MAX } from "./measured-and-assumed-inputs.ts";

export interface PlatformSize {
  rate: number;
  /** The number of gateway processes with one processor each. */
  gateways: number;
  /** The number of database servers that accounts are spread over. */
  postgres: number;
  walMbPerSecond: number;
  keptTbPerDay: number;
  rollupJobs: number;
  /**
   * The number of NATS clusters that the messages need. A cluster has three servers, and its own nodes and gateways.
   */
  natsClusters: number;
  /**
   * The number of NATS clusters that the nodes' reports need: each gateway gets the reports of all nodes of its
   * cluster.
   */
  regions: number;
  valkeys: number;
  nodes: number;
}

const MICRO = 1e6;

/**
 * Returns the requests per second that a ledger server handles: by its processors, by its disk, and as a whole, which
 * is the lower one of these.
 */
export function ledgerServerCapacity(): { processors: number; disk: number; carries: number } {
  const { postgresProcessors, postgresGain, fill, walMbPerSecond } = ASSUMED_INPUTS;
  const one = MICRO / MEASURED_INPUTS.postgresUs;
  const processors = one * (1 + (postgresProcessors - 1) * postgresGain) * fill;
  const disk = ((walMbPerSecond * MICRO) / MEASURED_INPUTS.walBytes) * fill;
  return { processors, disk, carries: Math.min(processors, disk) };
}

/** The requests per second that each part handles: a gateway process, a NATS cluster, a Valkey server, a rollup job. */
export const CAPACITY_PER_PART = {
  gateway: (MICRO / MEASURED_INPUTS.pacedGatewayUs) * ASSUMED_INPUTS.fill,
  // Half of the messages enter the cluster through one server and leave through another. So three servers do the work
  // of one and a half.
  natsCluster: ((MICRO / MEASURED_INPUTS.pacedNatsUs) * ASSUMED_INPUTS.natsProcessors * 3 * ASSUMED_INPUTS.fill) / 2,
  valkey: (MICRO / MEASURED_INPUTS.valkeyUs) * ASSUMED_INPUTS.fill,
  rollups: MEASURED_INPUTS.rolledUpPerSecond * ASSUMED_INPUTS.fill,
};

/** Returns how many fully loaded nodes a NATS cluster can have, so that every gateway can process all their reports. */
export function computeMaxNodesPerCluster(): number {
  const requests = ASSUMED_INPUTS.tokensPerNode / ASSUMED_INPUTS.tokensPerRequest;
  const reports = Math.min(REPORTS_PER_NODE_MAX, 2 * requests);
  return (ASSUMED_INPUTS.reportsFill * MICRO) / MEASURED_INPUTS.reportUs / reports;
}

export function computePlatformSize(rate: number): PlatformSize {
  const servers = (each: number): number => Math.ceil(rate / each);
  return {
    rate,
    gateways: servers(CAPACITY_PER_PART.gateway),
    postgres: servers(ledgerServerCapacity().carries),
    walMbPerSecond: (rate * MEASURED_INPUTS.walBytes) / MICRO,
    keptTbPerDay: (rate * MEASURED_INPUTS.keptBytes * 86_400) / 1e12,
    rollupJobs: servers(CAPACITY_PER_PART.rollups),
    natsClusters: servers(CAPACITY_PER_PART.natsCluster),
    regions: Math.ceil(
      servers(ASSUMED_INPUTS.tokensPerNode / ASSUMED_INPUTS.tokensPerRequest) / computeMaxNodesPerCluster(),
    ),
    valkeys: servers(CAPACITY_PER_PART.valkey),
    nodes: servers(ASSUMED_INPUTS.tokensPerNode / ASSUMED_INPUTS.tokensPerRequest),
  };
}

/**
 * Returns the parts of a platform with one of each, in the order in which they reach their limits, with the rates in
 * requests a second.
 */
export function listBottlenecks(): { part: string; at: number }[] {
  const limits = [
    { part: "one gateway process", at: CAPACITY_PER_PART.gateway },
    { part: "one rollup job", at: CAPACITY_PER_PART.rollups },
    { part: "one Valkey", at: CAPACITY_PER_PART.valkey },
    { part: "one NATS cluster", at: CAPACITY_PER_PART.natsCluster },
    { part: "one PostgreSQL", at: ledgerServerCapacity().carries },
    { part: "one account's row", at: MEASURED_INPUTS.pairsOfOneAccount },
    {
      part: "one region, by reports",
      at: computeMaxNodesPerCluster() * (ASSUMED_INPUTS.tokensPerNode / ASSUMED_INPUTS.tokensPerRequest),
    },
  ];
  return limits.sort((a, b) => a.at - b.at);
}
