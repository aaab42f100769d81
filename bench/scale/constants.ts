/** The inputs of the page about scale. Values under `measured` name the bench that measured them. */

export const measured = {
  /**
   * `npm run bench -- parts`, 16 November 2026, a quiet machine of two processors that also ran client and agent: a chat of 100 tokens,
   * streamed, 64 at once (859 a second); microseconds of processor and bytes per request.
   */
  postgresUs: 314,
  valkeyUs: 114,
  walBytes: 1_427,
  keptBytes: 955,
  /** The same, streamed at 50 tokens a second. Only 32 a second ended: little is shared, so that this is dearer than under more load. */
  pacedGatewayUs: 3_802,
  pacedNatsUs: 925,
  /** `npm run bench -- ledger`: the most holds and settlements a second of one account alone, before entries were derived. */
  pairsOfOneAccount: 12_200,
  /** `npm run bench -- insight`: requests a second that the job behind the console's figures takes in, on one connection. */
  rolledUpPerSecond: 17_650,
  /** `npm run bench -- streams`: streams open at once through one gateway. */
  streams: 10_000,
  /** `npm run bench -- walls`, 19 November 2026, a busy machine: microseconds of a gateway's processor for one report of a node, over NATS. */
  reportUs: 38,
};

/** Assumptions that were not measured here. */
export const assumed = {
  /** How full a part may be kept, so that a peak, a restart of a neighbour and a bad hash still fit. */
  fill: 0.6,
  /** Processors of one PostgreSQL server, and how much of the second and further ones is worth what the first is. */
  postgresProcessors: 16,
  postgresGain: 0.7,
  /** Durable writes of one server, in MB a second: a good network disk. */
  walMbPerSecond: 500,
  natsProcessors: 8,
  /** How long a request is open, in seconds, and how many tokens a second a node makes for all that it serves. */
  openSeconds: 4,
  tokensPerRequest: 100,
  tokensPerNode: 1_500,
  /** How much of a gateway's processor may go into reports of nodes. */
  reportsFill: 0.2,
};

/** The program's own (`protocol/`): an agent reports at most so often, because its slots change twice for each request. */
export const REPORTS_PER_NODE_MAX = 20;
