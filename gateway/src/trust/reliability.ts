/**
 * Which of its last jobs a node failed. Pure. Not failures: a client that disconnected, a refusal before acceptance, a cut at the cap; jobs
 * that the plane lost never arrive here. Jobs in flight when a node's connection ends count as one failure, because a broken cable is one
 * fault. A node that is silent while connected fails each of its requests once. Jobs of all gateways count together; reports arrive late,
 * in any order and perhaps twice, so each job is sorted by its end and counted once. A malicious builder can cause two kinds of failure,
 * which are therefore limited. Misses: with temperature the same prompt may end at once on one node and not on another, so a verdict based
 * on misses must be confirmed. Refused prompts or output formats: near the model's limit they are the builder's doing, and elsewhere each
 * account counts only a few times.
 */
import { FAILURES_MAX, failuresCarried, JOBS_WINDOW } from "../base/node-thresholds.ts";
import type { QuarantineReason } from "../base/states.ts";
import type { Failure } from "../dispatch/running-attempt.ts";

/** One refused prompt may be the client's fault; many are the node's. */
const REFUSED_PROMPTS_MAX = 10;
const REFUSED_PROMPTS_PER_ACCOUNT_MAX = 3;
/** Above this share of the context, tokenizers and templates may differ enough for an honest refusal. */
const NEAR_LIMIT = 3 / 4;

export interface JobEnd {
  /** Unique on the platform. */
  job?: string;
  failure: Failure | null;
  /** In the clock's monotonic milliseconds. */
  offeredAt: number;
  endedAt: number;
  /** The builder, and the share of the context that the prompt used. Absent: our own job. */
  origin?: { accountId: string; contextPart: number } | undefined;
}

export interface Verdict {
  reason: QuarantineReason;
  evidence: Record<string, unknown>;
}

/** A time in which the plane, not the node, caused silences. */
export interface Excuse {
  from: number;
  until: number;
}

/** Older excuses have left the window. */
const EXCUSES_MAX = 8;
/** The first characters of a job's id name its request. */
const REQUEST_CHARS = 26;
/** Before every other time. */
const NEVER = Number.NEGATIVE_INFINITY;

export class Reliability {
  /** Ordered by their ends. */
  #jobs: JobEnd[] = [];
  /** The latest failures that stand for all jobs in flight at that time. */
  readonly #losses: JobEnd[] = [];
  /** Failures of the last day, of the node and its host's retired nodes, as long as the window has room for them. */
  #carried = 0;
  /** Ends before this do not count: at all, or for misses. */
  #since = NEVER;
  #missesSince = NEVER;
  readonly #excuses: Excuse[] = [];

  /** The verdict when this job was one failure too many. */
  note(end: JobEnd): Verdict | undefined {
    const { failure, origin } = end;
    if (this.#isOver(end) || this.#isKnown(end)) return undefined;
    if (failure === "lost") {
      if (this.#losses.some((loss) => wereUnderWayTogether(loss, end))) return undefined;
      this.#losses.push(end);
      if (this.#losses.length > JOBS_WINDOW) this.#losses.shift();
    }
    if (failure === "silent" && this.#fellSilentWith(end)) return undefined;
    if (failure === "prompt" && origin !== undefined && !this.#countsRefusal(origin)) return undefined;
    this.#jobs.splice(this.#jobs.findLastIndex(({ endedAt }) => endedAt <= end.endedAt) + 1, 0, end);
    if (this.#jobs.length > JOBS_WINDOW) this.#jobs.shift();
    // A job that ended well cannot add a failure.
    if (failure === null) return undefined;
    if (this.count().failures >= FAILURES_MAX) return { reason: "failures", evidence: this.#evidence() };
    if (this.#of("prompt") >= REFUSED_PROMPTS_MAX) return { reason: "refused_prompts", evidence: this.#evidence() };
    return undefined;
  }

  /** The node joined. Adds the last day's record of it and of its host's retired nodes. */
  carry(lastDay: { answers: number; failures: number }): void {
    this.#carried = failuresCarried(lastDay);
  }

  /** The node was quarantined, so it is not quarantined again for the same failures. */
  startAnew(at: number): void {
    this.#carried = 0;
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

  /** The node was not the cause of the silence. */
  forgive(excuse: Excuse): void {
    this.#excuses.push(excuse);
    if (this.#excuses.length > EXCUSES_MAX) this.#excuses.shift();
    this.#jobs = this.#jobs.filter((job) => !this.#isOver(job));
  }

  count(): { jobs: number; failures: number } {
    const harmless = this.#of(null) + this.#of("prompt");
    const carried = Math.min(this.#carried, JOBS_WINDOW - this.#jobs.length);
    return { jobs: this.#jobs.length + carried, failures: this.#jobs.length - harmless + carried };
  }

  /** Whether the job was dropped, or ended before the window. */
  #isOver({ failure, endedAt }: JobEnd): boolean {
    if (endedAt < this.#since || (failure === "miss" && endedAt <= this.#missesSince)) return true;
    const isSilence = failure === "silent" || failure === "lost";
    if (isSilence && this.#excuses.some(({ from, until }) => from <= endedAt && endedAt <= until)) return true;
    return this.#jobs.length === JOBS_WINDOW && endedAt < (this.#jobs[0]?.endedAt ?? NEVER);
  }

  /** The same request failed on this node before. */
  #fellSilentWith({ job }: JobEnd): boolean {
    if (job === undefined) return false;
    const request = job.slice(0, REQUEST_CHARS);
    return this.#jobs.some((known) => known.failure === "silent" && known.job?.slice(0, REQUEST_CHARS) === request);
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
