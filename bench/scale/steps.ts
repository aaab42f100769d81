/** Computes how much of each part a rate of requests needs, from the measured cost of one request. */
import { assumed, measured } from "./constants.ts";

export interface Step {
  rate: number;
  /** Processes with one processor each. */
  gateways: number;
  openStreams: number;
  /** The number of database servers that accounts are spread over. */
  postgres: number;
  walMbPerSecond: number;
  keptTbPerDay: number;
  rollupJobs: number;
  /** Clusters of three servers, one per region. */
  natsClusters: number;
  valkeys: number;
  nodes: number;
}

const MICRO = 1e6;

/** The requests a second that one ledger server carries, by its processors and by its disk; the smaller one counts. */
export function pairsOfOneServer(): { processors: number; disk: number; carries: number } {
  const { postgresProcessors, postgresGain, fill, walMbPerSecond } = assumed;
  const one = MICRO / measured.postgresUs;
  const processors = one * (1 + (postgresProcessors - 1) * postgresGain) * fill;
  const disk = ((walMbPerSecond * MICRO) / measured.walBytes) * fill;
  return { processors, disk, carries: Math.min(processors, disk) };
}

/** The requests a second that one gateway process, one NATS cluster, one Valkey and one rollup job carry. */
export const carried = {
  gateway: (MICRO / measured.pacedGatewayUs) * assumed.fill,
  // Half of the messages enter the cluster by one server and leave by another, so three servers do the work of one and
  // a half.
  natsCluster: ((MICRO / measured.pacedNatsUs) * assumed.natsProcessors * 3 * assumed.fill) / 2,
  valkey: (MICRO / measured.valkeyUs) * assumed.fill,
  rollups: measured.rolledUpPerSecond * assumed.fill,
};

export function stepAt(rate: number): Step {
  const servers = (each: number): number => Math.ceil(rate / each);
  return {
    rate,
    gateways: servers(carried.gateway),
    openStreams: rate * assumed.openSeconds,
    postgres: servers(pairsOfOneServer().carries),
    walMbPerSecond: (rate * measured.walBytes) / MICRO,
    keptTbPerDay: (rate * measured.keptBytes * 86_400) / 1e12,
    rollupJobs: servers(carried.rollups),
    natsClusters: servers(carried.natsCluster),
    valkeys: servers(carried.valkey),
    nodes: servers(assumed.tokensPerNode / assumed.tokensPerRequest),
  };
}

/** The parts of a platform with one of each, in the order in which they reach their limits, with the rates. */
export function breaksInOrder(): { part: string; at: number }[] {
  const limits = [
    { part: "one gateway process", at: carried.gateway },
    { part: "one rollup job", at: carried.rollups },
    { part: "one Valkey", at: carried.valkey },
    { part: "one NATS cluster", at: carried.natsCluster },
    { part: "one PostgreSQL", at: pairsOfOneServer().carries },
    { part: "one account's row", at: measured.pairsOfOneAccount },
  ];
  return limits.sort((a, b) => a.at - b.at);
}
