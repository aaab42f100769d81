/**
 * The thresholds that decide from a node's record how far it is trusted. They are in `base` because dispatch, fleet and
 * trust share them. trust/README.md explains each rule. Pure.
 */

/** The number of good answers that ends probation. Until then a new node gets one request at a time. */
export const PROBATION_ANSWERS = 20;
/** The most nodes that a host can have until one of them completes its probation. */
export const PROBATION_NODES_MAX = 3;

/**
 * With fewer good answers than this, a node gets at most this many slots, whatever number it reports. Above the last
 * row it gets all slots.
 */
const SLOTS_BELOW_ANSWERS: readonly (readonly [answers: number, slots: number])[] = [
  [100, 4],
  [400, 16],
  [1_600, 64],
  [6_400, 256],
];

/** A node that gets at most this many slots does not have an established record yet. */
export const UNESTABLISHED_NODE_SLOTS_MAX = 4;

/**
 * The number of a node's slots that the gateway uses. `probationAnswers` 0: every node may use all its slots
 * immediately.
 */
export function trustedSlotCount(answers: number, probationAnswers: number): number {
  if (probationAnswers === 0) return Number.POSITIVE_INFINITY;
  if (answers < probationAnswers) return 1;
  return SLOTS_BELOW_ANSWERS.find(([below]) => answers < below)?.[1] ?? Number.POSITIVE_INFINITY;
}

/** The time in which a node with a free slot has to accept an offer. Afterwards another node is asked. */
export const ACCEPT_MS_MAX = 250;

/**
 * Consequences of a refusal (the node reports busy although the gateways count a free slot) or a late acceptance. The
 * gateway lowers the node's slots to the number of its running jobs, and adds one again every `slotBackMs`. The node is
 * the last choice for `shunMs`, which doubles up to `shunMsMax`.
 */
export const REFUSAL_PENALTIES = {
  shunMs: 500,
  shunMsMax: 10 * 60_000,
  slotBackMs: 10_000,
  /**
   * The most refusals in a row for which offers still include the prompt. With more, the prompt is sent only after
   * acceptance.
   */
  inGoodStandingMax: 3,
  /** Refusals older than this do not count any more. */
  forgottenMs: 10 * 60_000,
} as const;

const doubling = (firstMs: number, timesInARow: number, msMax: number): number =>
  Math.min(msMax, firstMs * 2 ** Math.max(0, timesInARow - 1));

export const refusalPenaltyMs = (refusalsInARow: number): number =>
  doubling(REFUSAL_PENALTIES.shunMs, refusalsInARow, REFUSAL_PENALTIES.shunMsMax);

/**
 * After a failed job, a node is the last choice for this long. The time doubles with each failure until a job ends
 * well.
 */
export const failurePenaltyMs = (failuresInARow: number): number => doubling(15_000, failuresInARow, 2 * 60_000);

/**
 * A stream with fewer pieces per second is useless to the client. Its node is the last choice for a minute, and for one
 * minute more each time. For unstreamed answers, tokens per second count.
 */
export const SLOW_STREAM = { perSecond: 2, spanMsMin: 3_000, shunMs: 60_000 } as const;

/** The number of latest jobs that count, and the number of failures among them that leads to a quarantine. */
export const QUARANTINE_JOBS_WINDOW = 20;
export const QUARANTINE_FAILURES_MIN = 5;
/** What a node and its host's other nodes did within this time counts when the node joins. */
export const COUNTED_AT_JOIN_MS = 24 * 60 * 60_000;

/** The counts of several nodes together. `own`: of the node and its host's retired nodes; `host`: of all its nodes. */
interface BeforeJoin<Counts> {
  own: Counts;
  host: Counts;
}

/**
 * How many of a joining node's latest twenty jobs count as bad because of the last day. The worse of the two records
 * counts: a good node cannot hide a bad one of the same host, and a new node begins with its host's record.
 */
function countAtJoin({ own, host }: BeforeJoin<{ good: number; bad: number }>): number {
  const share = ({ good, bad }: { good: number; bad: number }): number =>
    Math.floor((bad * QUARANTINE_JOBS_WINDOW) / Math.max(QUARANTINE_JOBS_WINDOW, good + bad));
  return Math.max(share(own), share(host));
}

interface Ends {
  answers: number;
  failures: number;
  silences: number;
}
interface Offers {
  answers: number;
  refusals: number;
  late: number;
}

/** The failures that count when a node joins. Alone they never lead to a quarantine. */
export function countFailuresBeforeJoin({ own, host }: BeforeJoin<Ends>): number {
  const ends = ({ answers, failures, silences }: Ends) => ({ good: answers, bad: failures + silences });
  return Math.min(QUARANTINE_FAILURES_MIN - 1, countAtJoin({ own: ends(own), host: ends(host) }));
}

/**
 * The refusals in a row that a node begins with when it connects, from its and its host's earlier connections. Until it
 * accepts a job, nodes with fewer refusals are asked first.
 */
export function countRefusalsFromBeforeJoin({ own, host }: BeforeJoin<Offers>): number {
  const offers = ({ answers, refusals, late }: Offers) => ({ good: answers, bad: refusals + late });
  return countAtJoin({ own: offers(own), host: offers(host) });
}

/** The most nodes that may fall silent during one request. Then the request is not offered to further nodes. */
export const SILENT_NODES_PER_REQUEST_MAX = 2;

/**
 * To prove that a server of the plane failed under a node, this many established nodes of other hosts must have lost
 * their connection to the same server at the same time.
 */
export const SERVER_LOSS_WITNESSES_MIN = 2;
export const SIMULTANEOUS_SERVER_LOSS_WINDOW_MS = 5_000;

/**
 * How long reports of progress in reading the prompt keep an attempt alive, in total over all attempts of a request.
 */
export const PREFILL_MS_MAX = 60_000;
/**
 * The maximum time without progress in reading a prompt. A time per prompt token is added: 50 tokens per second is slow
 * for any engine.
 */
const STUCK_MS_MAX = 10_000;
const STUCK_MS_PER_TOKEN = 20;
export const computePromptStallMsMax = (promptTokens: number): number =>
  Math.min(PREFILL_MS_MAX, STUCK_MS_MAX + promptTokens * STUCK_MS_PER_TOKEN);

/**
 * A node that reads a prompt for longer than this, and for much longer than the model's nodes usually take, is replaced
 * if another node is free. It is not blamed.
 */
export const PROMPT_READ_MS_MIN = 2_000;
const READ_TIMES_MAX = 4;
export const computePromptReadMsMax = (usualMs: number | null, promptTokens: number): number =>
  PROMPT_READ_MS_MIN + READ_TIMES_MAX * (usualMs ?? promptTokens * STUCK_MS_PER_TOKEN);

/** A node with more failures among its latest jobs verifies no answers of others. */
export const VERIFIER_FAILURES_MAX = 2;

/**
 * Before a node may serve a model to builders who opted out of spot checks, this many of its answers with the model
 * must have been judged.
 */
export const CHECKED_MIN = 1_000;

/** A retired node keeps its connection until its jobs end, but at most this long. */
export const RETIRED_NODE_CREDENTIALS_MS_MAX = 30_000;
