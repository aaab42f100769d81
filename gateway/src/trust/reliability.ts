/**
 * Which of a node's last jobs it failed, blame decided before anything counts. Pure. A client that goes away, a refusal
 * before acceptance and a cut at the cap are no failures; what the plane lost does not come here at all. Jobs that were under
 * way when a node fell silent or was cut off are one failure together: a broken cable is one fault, not one for every request
 * it carried.
 *
 * The jobs of all gateways count together. What others saw comes a little later, in any order and perhaps twice, so a job
 * takes its place by the time of its end, and once.
 *
 * Two kinds of failure can be brought about by a builder who means a node ill, and are bounded for that. A miss: with
 * temperature the same prompt may end at once on one node and not on another, so a verdict that rests on misses has to be
 * confirmed. A refused prompt, or output format: near the model's limit it is the builder's doing, and elsewhere one account
 * counts a few times only.
 */
import type { QuarantineReason } from "../base/states.ts";
import type { Failure } from "../dispatch/running-attempt.ts";

export const JOBS_WINDOW = 20;
export const FAILURES_MAX = 5;
/** "The engine cannot take this prompt" is the client's fault now and then; as a habit it is a node's excuse. */
const REFUSED_PROMPTS_MAX = 10;
const REFUSED_PROMPTS_PER_ACCOUNT_MAX = 3;
/** Beyond this part of the context, tokenizers and templates may differ enough for an engine to refuse in good faith. */
const NEAR_LIMIT = 3 / 4;

export interface JobEnd {
  /** Tells it from every other on the platform. */
  job?: string;
  failure: Failure | null;
  /** In the clock's monotonic milliseconds. */
  offeredAt: number;
  endedAt: number;
  /** The builder whose request it was, and the part of the model's context that its prompt took. Absent: our own job. */
  origin?: { accountId: string; contextPart: number } | undefined;
}

export interface Verdict {
  reason: QuarantineReason;
  evidence: Record<string, unknown>;
}

/** When the silence was the plane's and not the node's: jobs that ended from then until then. */
export interface Excuse {
  from: number;
  until: number;
}

/** What was excused longer ago than that has left the window. */
const EXCUSES_MAX = 8;
/** A time before every other. */
const NEVER = Number.NEGATIVE_INFINITY;

export class Reliability {
  /** In the order of their ends. */
  #jobs: JobEnd[] = [];
  /** The last failures that stand for everything that was under way then. */
  readonly #silences: JobEnd[] = [];
  /** What ended before counts no more: at all, or if it was a miss. */
  #since = NEVER;
  #missesSince = NEVER;
  readonly #excuses: Excuse[] = [];

  /** The verdict when this job was one too many. */
  note(end: JobEnd): Verdict | undefined {
    const { failure, origin } = end;
    if (this.#isOver(end) || this.#isKnown(end)) return undefined;
    if (failure === "silent" || failure === "lost") {
      if (this.#silences.some((silence) => wereUnderWayTogether(silence, end))) return undefined;
      this.#silences.push(end);
      if (this.#silences.length > JOBS_WINDOW) this.#silences.shift();
    }
    if (failure === "prompt" && origin !== undefined && !this.#countsRefusal(origin)) return undefined;
    this.#jobs.splice(this.#jobs.findLastIndex(({ endedAt }) => endedAt <= end.endedAt) + 1, 0, end);
    if (this.#jobs.length > JOBS_WINDOW) this.#jobs.shift();
    // Most jobs end well, and what was not too many before is not too many now.
    if (failure === null) return undefined;
    if (this.count().failures >= FAILURES_MAX) return { reason: "failures", evidence: this.#evidence() };
    if (this.#of("prompt") >= REFUSED_PROMPTS_MAX) return { reason: "refused_prompts", evidence: this.#evidence() };
    return undefined;
  }

  /** The node was barred: it is not barred for the same again. */
  startAnew(at: number): void {
    this.#since = Math.max(this.#since, at);
    this.#jobs = this.#jobs.filter((job) => !this.#isOver(job));
  }

  /** Without its misses the node would not have failed too often. */
  get restsOnMisses(): boolean {
    return this.count().failures - this.#of("miss") < FAILURES_MAX;
  }

  forgetMisses(at: number): void {
    this.#missesSince = Math.max(this.#missesSince, at);
    this.#jobs = this.#jobs.filter((job) => !this.#isOver(job));
  }

  /** The jobs that count, and since when. */
  get window(): { jobs: readonly JobEnd[]; since: number; missesSince: number; excuses: readonly Excuse[] } {
    return { jobs: this.#jobs, since: this.#since, missesSince: this.#missesSince, excuses: this.#excuses };
  }

  /** It was not the node that was silent then. */
  forgive(excuse: Excuse): void {
    this.#excuses.push(excuse);
    if (this.#excuses.length > EXCUSES_MAX) this.#excuses.shift();
    this.#jobs = this.#jobs.filter((job) => !this.#isOver(job));
  }

  count(): { jobs: number; failures: number } {
    const harmless = this.#of(null) + this.#of("prompt");
    return { jobs: this.#jobs.length, failures: this.#jobs.length - harmless };
  }

  /** It was forgotten, or lies before all that count. */
  #isOver({ failure, endedAt }: JobEnd): boolean {
    if (endedAt < this.#since || (failure === "miss" && endedAt <= this.#missesSince)) return true;
    const isSilence = failure === "silent" || failure === "lost";
    if (isSilence && this.#excuses.some(({ from, until }) => from <= endedAt && endedAt <= until)) return true;
    return this.#jobs.length === JOBS_WINDOW && endedAt < (this.#jobs[0]?.endedAt ?? NEVER);
  }

  #isKnown({ job }: JobEnd): boolean {
    return job !== undefined && this.#jobs.some((known) => known.job === job);
  }

  #countsRefusal({ accountId, contextPart }: NonNullable<JobEnd["origin"]>): boolean {
    if (contextPart >= NEAR_LIMIT) return false;
    const before = this.#jobs.filter((job) => job.failure === "prompt" && job.origin?.accountId === accountId).length;
    return before < REFUSED_PROMPTS_PER_ACCOUNT_MAX;
  }

  #evidence(): Verdict["evidence"] {
    const kinds = new Map<string, number>();
    for (const { failure } of this.#jobs) {
      if (failure !== null) kinds.set(failure, (kinds.get(failure) ?? 0) + 1);
    }
    return { ...this.count(), kinds: Object.fromEntries(kinds) };
  }

  #of(failure: Failure | null): number {
    return this.#jobs.filter((job) => job.failure === failure).length;
  }
}

const wereUnderWayTogether = (one: JobEnd, other: JobEnd): boolean =>
  one.offeredAt <= other.endedAt && other.offeredAt <= one.endedAt;
