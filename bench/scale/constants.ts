/** What the page about scale is reckoned from. Everything under `measured` was; the bench that says so stands beside it. */

export const measured = {
  /** `npm run bench -- parts`: a chat of 100 tokens, streamed, 64 at once; microseconds of processor, messages and bytes per request. */
  gatewayUs: 560,
  postgresUs: 190,
  natsUs: 45,
  valkeyUs: 60,
  agentUs: 220,
  natsMessages: 4.2,
  natsBytes: 11_000,
  walBytes: 1_430,
  keptBytes: 1_000,
  /** The same, streamed at 50 tokens a second: what pacing adds. */
  pacedGatewayUs: 2_100,
  pacedNatsUs: 300,
  /** `npm run bench -- ledger`: the most holds and settlements a second, on two processors; and of one account alone. */
  pairsPerSecond: 10_700,
  pairsOfOneAccount: 12_200,
  /** `npm run bench -- insight`: requests a second that the job behind the console's figures takes in, on one connection. */
  rolledUpPerSecond: 3_590,
  /** `npm run bench -- gateway`: MiB of a gateway with nothing to do, and of each stream that is open. */
  gatewayMib: 150,
  streamMib: 0.11,
};

/** What nobody measured here: said, so that it can be changed. */
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
  /** Days that whole records are kept (HISTORY_DAYS). */
  historyDays: 90,
};
