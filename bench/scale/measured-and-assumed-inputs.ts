/**
 * The measured and assumed inputs of the tables in docs/scale.md. Values in `MEASURED` name the bench that measured
 * them.
 */

export const MEASURED_INPUTS = {
  /**
   * From `npm run bench -- parts`, 16 November 2026, on a quiet machine of two processors that also ran client and
   * agent: streamed chats of 100 tokens, 64 at a time (859 a second). Microseconds of processor time and bytes per
   * request.
   */
  postgresUs: 314,
  valkeyUs: 114,
  walBytes: 1_427,
  keptBytes: 955,
  /**
   * The same chats, streamed at 50 tokens a second. Only 32 a second ended, so requests shared little work and each
   * cost more than under higher load.
   */
  pacedGatewayUs: 3_802,
  pacedNatsUs: 925,
  /**
   * From `npm run bench -- ledger`: the maximum number of holds and settlements a second for a single account. Measured
   * before ledger entries were derived from the records.
   */
  pairsOfOneAccount: 12_200,
  /**
   * From `npm run bench -- rollups`, 19 November 2026, on a busy machine: how many requests one connection rolls up and
   * merges in a second of processor time.
   */
  rolledUpPerSecond: 42_000,
  /** From `npm run bench -- streams`: how many streams one gateway kept open at once. */
  streams: 10_000,
  /**
   * From `npm run bench -- walls`, 19 November 2026, on a busy machine: microseconds of a gateway's processor time for
   * one report of a node, over NATS.
   */
  reportUs: 38,
};

/** Assumptions that were not measured. */
export const ASSUMED_INPUTS = {
  /**
   * The maximum utilisation of a part, which leaves a margin for peaks, the restart of a neighbour and uneven hashing.
   */
  fill: 0.6,
  /**
   * The number of processors of one PostgreSQL server, and the value of each further processor relative to the first.
   */
  postgresProcessors: 16,
  postgresGain: 0.7,
  /** How much one server can write durably, in MB a second, as with a good network disk. */
  walMbPerSecond: 500,
  natsProcessors: 8,
  /**
   * How many seconds a request lasts, how many tokens its answer has, and how many tokens a second a node generates for
   * all its requests.
   */
  openSeconds: 4,
  tokensPerRequest: 100,
  tokensPerNode: 1_500,
  /** The maximum share of a gateway's processor time for reports of nodes. */
  reportsFill: 0.2,
};

/**
 * The maximum number of reports that an agent sends per second, as `protocol/` requires. Without it, an agent would
 * send two reports per request, because its slots change when a request begins and when it ends.
 */
export const REPORTS_PER_NODE_MAX = 20;
