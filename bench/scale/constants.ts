/** The measured and assumed inputs of bench/scale/README.md. Values under `measured` name the bench that measured them. */

export const MEASURED = {
  /**
   * `npm run bench -- parts`, 16 November 2026, on a quiet machine of two processors that also ran client and agent: a
   * streamed chat of 100 tokens, 64 at a time (859 a second); microseconds of processor time and bytes per request.
   */
  postgresUs: 314,
  valkeyUs: 114,
  walBytes: 1_427,
  keptBytes: 955,
  /**
   * The same, streamed at 50 tokens a second. Only 32 a second ended, so little work is shared and each costs more than
   * under higher load.
   */
  pacedGatewayUs: 3_802,
  pacedNatsUs: 925,
  /** `npm run bench -- ledger`: the most holds and settlements a second of a single account, before entries were derived. */
  pairsOfOneAccount: 12_200,
  /** `npm run bench -- rollups`, 19 November 2026, a busy machine: what one connection counts and merges in a second of processor time. */
  rolledUpPerSecond: 42_000,
  /** `npm run bench -- streams`: streams open at once through one gateway. */
  streams: 10_000,
  /** `npm run bench -- walls`, 19 November 2026, a busy machine: microseconds of a gateway's processor for one report of a node, over NATS. */
  reportUs: 38,
};

/** Assumptions that were not measured. */
export const ASSUMED = {
  /** The maximum utilisation of a part, which leaves room for peaks, the restart of a neighbour and uneven hashing. */
  fill: 0.6,
  /** Processors of one PostgreSQL server, and the value of each further processor relative to the first. */
  postgresProcessors: 16,
  postgresGain: 0.7,
  /** Durable writes of one server in MB a second, as with a good network disk. */
  walMbPerSecond: 500,
  natsProcessors: 8,
  /** How many seconds a request is open, and how many tokens a second a node generates for all its requests. */
  openSeconds: 4,
  tokensPerRequest: 100,
  tokensPerNode: 1_500,
  /** How much of a gateway's processor may go into reports of nodes. */
  reportsFill: 0.2,
};

/** The program's own (`protocol/`): an agent reports at most so often, because its slots change twice for each request. */
export const REPORTS_PER_NODE_MAX = 20;
