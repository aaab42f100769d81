/**
 * Every number by which the platform's own record of a node decides how far the node is trusted. Pure. It is in `base` because
 * dispatch, fleet and trust decide by the same numbers; trust/README.md has a line for each rule.
 */

/** A new node gets one request at a time until it gave so many good answers. */
export const PROBATION_ANSWERS = 20;
/** A host none of whose nodes came through its probation has at most so many. */
export const PROBATION_NODES_MAX = 3;

/** Below so many good answers a node has at most so many slots, whatever it reports. From the last row on, all of them. */
const SLOTS_BELOW_ANSWERS: readonly (readonly [answers: number, slots: number])[] = [
  [100, 4],
  [400, 16],
  [1_600, 64],
  [6_400, 256],
];

/** A node that is trusted with no more has no record of its own yet. */
export const SLOTS_OF_NEW_MAX = 4;

/** How many of its slots a node is trusted with. `probationAnswers` 0: every node with all of them, at once. */
export function slotsTrusted(answers: number, probationAnswers: number): number {
  if (probationAnswers === 0) return Number.POSITIVE_INFINITY;
  if (answers < probationAnswers) return 1;
  return SLOTS_BELOW_ANSWERS.find(([below]) => answers < below)?.[1] ?? Number.POSITIVE_INFINITY;
}

/** A node with a free slot accepts within this time, or another is asked. */
export const ACCEPT_MS_MAX = 250;

/**
 * A refusal (the node says busy while the gateways' own count leaves it a slot) or a late acceptance. The node's slots fall to what it
 * runs, and one comes back every `slotBackMs`. It is asked last for `shunMs`, twice as long each time, up to `shunMsMax`.
 */
export const REFUSALS = {
  shunMs: 500,
  shunMsMax: 10 * 60_000,
  slotBackMs: 10_000,
  /** More than so many in a row: prompts no longer travel with the offer. */
  inGoodStandingMax: 3,
  /** What lies this long back does not count any more. */
  forgottenMs: 10 * 60_000,
} as const;

const doubling = (firstMs: number, timesInARow: number, msMax: number): number =>
  Math.min(msMax, firstMs * 2 ** Math.max(0, timesInARow - 1));

export const shunMs = (refusalsInARow: number): number => doubling(REFUSALS.shunMs, refusalsInARow, REFUSALS.shunMsMax);

/** A node that failed a job is asked last for so long, twice as long each time until a job of it ends well. */
export const failedShunMs = (failuresInARow: number): number => doubling(15_000, failuresInARow, 2 * 60_000);

/**
 * A stream with fewer pieces a second is of no use to anyone: its node is asked last for a minute, one more each time. An answer with
 * fewer tokens a second has crawled, streamed or not.
 */
export const CRAWL = { perSecond: 2, spanMsMin: 3_000, shunMs: 60_000 } as const;

/** So many of its last jobs count, and so many failures among them are too many. */
export const JOBS_WINDOW = 20;
export const FAILURES_MAX = 5;
/** What a node and its host's retired nodes failed within this time counts when the node joins. It alone bars no one. */
export const RECORD_MS = 24 * 60 * 60_000;

export function failuresCarried({ answers, failures }: { answers: number; failures: number }): number {
  const jobs = Math.max(JOBS_WINDOW, answers + failures);
  return Math.min(FAILURES_MAX - 1, Math.floor((failures * JOBS_WINDOW) / jobs));
}

/** A request during which so many nodes fell silent is offered to no one else. */
export const SILENT_NODES_MAX = 2;

/** Nodes of so many other established hosts that a server lost at the same time are evidence that the server failed. */
export const WITNESSES_MIN = 2;
export const WITNESS_MS = 5_000;

/** Prefill progress is a sign of life for so long, over all attempts of a request. */
export const PREFILL_MS_MAX = 60_000;
/** While the fraction does not grow: for so long, and for each token of the prompt (50 tokens a second is slow for any engine). */
const STUCK_MS_MAX = 10_000;
const STUCK_MS_PER_TOKEN = 20;
export const stuckMsMax = (promptTokens: number): number =>
  Math.min(PREFILL_MS_MAX, STUCK_MS_MAX + promptTokens * STUCK_MS_PER_TOKEN);

/**
 * A node that reads the prompt for longer than this, and for much longer than the model's nodes take for as many tokens, is passed over
 * where another is free. It is not blamed.
 */
export const READ_MS_MIN = 2_000;
const READ_TIMES_MAX = 4;
export const readMsMax = (usualMs: number | null, promptTokens: number): number =>
  READ_MS_MIN + READ_TIMES_MAX * (usualMs ?? promptTokens * STUCK_MS_PER_TOKEN);

/** A retired node keeps its credentials for what the gateways gave it, and no longer than this. */
export const RETIRED_MS_MAX = 30_000;
