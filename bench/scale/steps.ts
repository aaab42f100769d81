/** How much of each part a rate of requests takes, from what one request was measured to take. */
import { assumed, measured, REPORTS_PER_NODE_MAX } from "./constants.ts";

export interface Step {
  rate: number;
  /** Processes, of a processor each. */
  gateways: number;
  /** Servers that accounts are spread over. */
  postgres: number;
  walMbPerSecond: number;
  keptTbPerDay: number;
  rollupJobs: number;
  /** Clusters of three, each with its own nodes and gateways: by the messages that they carry. */
  natsClusters: number;
  /** The same by what each gateway hears of all nodes of its cluster. */
  regions: number;
  valkeys: number;
  nodes: number;
}

const MICRO = 1e6;

/** What one server of the ledger carries a second, by whichever limit comes first. */
export function pairsOfOneServer(): { processors: number; disk: number; carries: number } {
  const { postgresProcessors, postgresGain, fill, walMbPerSecond } = assumed;
  const one = MICRO / measured.postgresUs;
  const processors = one * (1 + (postgresProcessors - 1) * postgresGain) * fill;
  const disk = ((walMbPerSecond * MICRO) / measured.walBytes) * fill;
  return { processors, disk, carries: Math.min(processors, disk) };
}

/** What one gateway process, one cluster of NATS servers, one Valkey and one rollup job carry a second. */
export const carried = {
  gateway: (MICRO / measured.pacedGatewayUs) * assumed.fill,
  // A message enters by one server of the cluster and leaves by another as often as not, so that three do the work of one and a half.
  natsCluster: ((MICRO / measured.pacedNatsUs) * assumed.natsProcessors * 3 * assumed.fill) / 2,
  valkey: (MICRO / measured.valkeyUs) * assumed.fill,
  rollups: measured.rolledUpPerSecond * assumed.fill,
};

/** Nodes that every gateway of a cluster can listen to, each as busy as it gets. */
export function nodesOfOneRegion(): number {
  const requests = assumed.tokensPerNode / assumed.tokensPerRequest;
  const reports = Math.min(REPORTS_PER_NODE_MAX, 2 * requests);
  return (assumed.reportsFill * MICRO) / measured.reportUs / reports;
}

export function stepAt(rate: number): Step {
  const servers = (each: number): number => Math.ceil(rate / each);
  return {
    rate,
    gateways: servers(carried.gateway),
    postgres: servers(pairsOfOneServer().carries),
    walMbPerSecond: (rate * measured.walBytes) / MICRO,
    keptTbPerDay: (rate * measured.keptBytes * 86_400) / 1e12,
    rollupJobs: servers(carried.rollups),
    natsClusters: servers(carried.natsCluster),
    regions: Math.ceil(servers(assumed.tokensPerNode / assumed.tokensPerRequest) / nodesOfOneRegion()),
    valkeys: servers(carried.valkey),
    nodes: servers(assumed.tokensPerNode / assumed.tokensPerRequest),
  };
}

/** The part of a platform of one of each that is full first, and at which rate; then the next. */
export function breaksInOrder(): { part: string; at: number }[] {
  const limits = [
    { part: "one gateway process", at: carried.gateway },
    { part: "one rollup job", at: carried.rollups },
    { part: "one Valkey", at: carried.valkey },
    { part: "one NATS cluster", at: carried.natsCluster },
    { part: "one PostgreSQL", at: pairsOfOneServer().carries },
    { part: "one account's row", at: measured.pairsOfOneAccount },
    { part: "one region, by reports", at: nodesOfOneRegion() * (assumed.tokensPerNode / assumed.tokensPerRequest) },
  ];
  return limits.sort((a, b) => a.at - b.at);
}
