/**
 * All thresholds by which a node's record decides how far it is trusted. In `base` because dispatch, fleet and trust share them;
 * trust/README.md explains each rule. Pure.
 */

/** A new node gets one request at a time until it has given this many good answers. */
export const PROBATION_ANSWERS = 20;
/** The most nodes of a host none of whose nodes has completed its probation. */
export const PROBATION_NODES_MAX = 3;

/** With fewer good answers than this, a node gets at most this many slots, whatever it reports. Above the last row it gets all. */
const SLOTS_BELOW_ANSWERS: readonly (readonly [answers: number, slots: number])[] = [
  [100, 4],
  [400, 16],
  [1_600, 64],
  [6_400, 256],
];

/** A node with at most this many slots has no record of its own yet. */
export const SLOTS_OF_NEW_MAX = 4;

/** How many of its slots the gateway uses. `probationAnswers` 0: all slots of every node at once. */
export function slotsTrusted(answers: number, probationAnswers: number): number {
  if (probationAnswers === 0) return Number.POSITIVE_INFINITY;
  if (answers < probationAnswers) return 1;
  return SLOTS_BELOW_ANSWERS.find(([below]) => answers < below)?.[1] ?? Number.POSITIVE_INFINITY;
}

/** A node with a free slot accepts within this time, or another is asked. */
export const ACCEPT_MS_MAX = 250;

/**
 * For a refusal (the node says busy although the gateways count a free slot) or a late acceptance: the node's slots drop to its running
 * jobs, and one returns every `slotBackMs`. It is asked last for `shunMs`, doubling up to `shunMsMax`.
 */
export const REFUSALS = {
  shunMs: 500,
  shunMsMax: 10 * 60_000,
  slotBackMs: 10_000,
  /** Above this many in a row, prompts are no longer sent with the offer. */
  inGoodStandingMax: 3,
  /** Older refusals no longer count. */
  forgottenMs: 10 * 60_000,
} as const;

const doubling = (firstMs: number, timesInARow: number, msMax: number): number =>
  Math.min(msMax, firstMs * 2 ** Math.max(0, timesInARow - 1));

export const shunMs = (refusalsInARow: number): number => doubling(REFUSALS.shunMs, refusalsInARow, REFUSALS.shunMsMax);

/** After a failed job a node is asked last for this long, doubling until a job ends well. */
export const failedShunMs = (failuresInARow: number): number => doubling(15_000, failuresInARow, 2 * 60_000);

/**
 * A stream with fewer pieces per second is useless, so its node is asked last for a minute, one more each time. For unstreamed answers the
 * tokens per second count.
 */
export const CRAWL = { perSecond: 2, spanMsMin: 3_000, shunMs: 60_000 } as const;

/** The number of recent jobs that count, and the failures among them that are too many. */
export const JOBS_WINDOW = 20;
export const FAILURES_MAX = 5;
/** Failures of a node and its host's retired nodes within this time count when the node joins. Alone they quarantine no node. */
export const RECORD_MS = 24 * 60 * 60_000;

export function failuresCarried({ answers, failures }: { answers: number; failures: number }): number {
  const jobs = Math.max(JOBS_WINDOW, answers + failures);
  return Math.min(FAILURES_MAX - 1, Math.floor((failures * JOBS_WINDOW) / jobs));
}

/** After this many nodes fell silent during a request, no further node is offered the request. */
export const SILENT_NODES_MAX = 2;

/** This many nodes of other established hosts that lost a server at the same time are evidence that the server failed. */
export const WITNESSES_MIN = 2;
export const WITNESS_MS = 5_000;

/** How long prefill progress counts as a sign of life, over all attempts of a request. */
export const PREFILL_MS_MAX = 60_000;
/** Without an increase of the fraction: this long, plus a time per prompt token (50 tokens per second is slow for any engine). */
const STUCK_MS_MAX = 10_000;
const STUCK_MS_PER_TOKEN = 20;
export const stuckMsMax = (promptTokens: number): number =>
  Math.min(PREFILL_MS_MAX, STUCK_MS_MAX + promptTokens * STUCK_MS_PER_TOKEN);

/**
 * A node that reads a prompt for longer than this, and for much longer than the model's nodes usually take, is passed over if another is
 * free. It is not blamed.
 */
export const READ_MS_MIN = 2_000;
const READ_TIMES_MAX = 4;
export const readMsMax = (usualMs: number | null, promptTokens: number): number =>
  READ_MS_MIN + READ_TIMES_MAX * (usualMs ?? promptTokens * STUCK_MS_PER_TOKEN);

/** A retired node keeps its credentials until its jobs end, at most this long. */
export const RETIRED_MS_MAX = 30_000;
