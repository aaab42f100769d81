/**
 * Counts how many of its latest jobs a node failed. Pure. Not failures: a client that disconnected, a refusal before
 * acceptance, a cut at the cap; jobs that the plane lost never arrive here. Jobs in flight when a node's connection
 * ends count as one failure, because a broken cable is one fault. A node that is silent while connected fails each of
 * its requests once. Jobs of all gateways count together; reports arrive late, in any order and perhaps twice, so each
 * job is sorted by its end and counted once.
 *
 * A malicious builder can cause two kinds of failure, which are therefore limited.
 * - Misses (no output, although another node returned some): with temperature the same prompt may end at once on one
 *   node and not on another, so a quarantine for misses must be confirmed first.
 * - Refused prompts or output formats: near the model's limit the builder causes them, so they do not count. Elsewhere
 *   only a few refusals of each account's requests count.
 */
import { QUARANTINE_FAILURES_MIN, QUARANTINE_JOBS_WINDOW } from "../base/node-trust-thresholds.ts";
import type { QuarantineReason } from "../base/stored-enumerations.ts";
import type { AttemptFailure } from "../dispatch/running-attempt.ts";

/** The most refused prompts in the window. A single refusal may be the client's fault; many are the node's. */
const REFUSED_PROMPTS_MAX = 10;
const REFUSED_PROMPTS_PER_ACCOUNT_MAX = 3;
/** A prompt above this share of the context may be refused honestly, because tokenizers and templates differ. */
const NEAR_LIMIT = 3 / 4;

export interface JobEnd {
  /** The job's ID, unique on the platform. */
  job?: string;
  failure: AttemptFailure | null;
  /** When the job was offered, in monotonic milliseconds. */
  offeredAt: number;
  endedAt: number;
  /** The builder, and the share of the context that the prompt used. Absent: a probe. */
  origin?: { accountId: string; contextPart: number } | undefined;
}

export interface QuarantineVerdict {
  reason: QuarantineReason;
  evidence: Record<string, unknown>;
}

/** A time in which the plane, not the node, caused silences. */
export interface ExcusedPeriod {
  from: number;
  until: number;
}

/** The most excused periods that are kept. Older ones are outside the window of jobs. */
const EXCUSES_MAX = 8;
/** The length of the request ID at the beginning of a job's ID. */
const REQUEST_CHARS = 26;
/** A time before every other time. */
const NEVER = Number.NEGATIVE_INFINITY;

export class ReliabilityRecord {
  /** The jobs in the window, ordered by their end. */
  #jobs: JobEnd[] = [];
  /** Recent failures of kind "lost". Jobs that were lost while in flight together count as one failure. */
  readonly #losses: JobEnd[] = [];
  /** Failures of the node's earlier connections. They count while the window has fewer than twenty jobs. */
  #carried = 0;
  /** Jobs that ended before this time do not count. `#missesSince`: the same for misses only. */
  #since = NEVER;
  #missesSince = NEVER;
  readonly #excuses: ExcusedPeriod[] = [];

  /** Adds a job. If the node has failed too often with it, returns the reason and evidence for a quarantine. */
  note(end: JobEnd): QuarantineVerdict | undefined {
    const { failure, origin } = end;
    if (this.#isOver(end) || this.#isKnown(end)) return undefined;
    if (failure === "lost") {
      if (this.#losses.some((loss) => wereUnderWayTogether(loss, end))) return undefined;
      this.#losses.push(end);
      if (this.#losses.length > QUARANTINE_JOBS_WINDOW) this.#losses.shift();
    }
    if (failure === "silent" && this.#fellSilentWith(end)) return undefined;
    if (failure === "prompt" && origin !== undefined && !this.#countsRefusal(origin)) return undefined;
    this.#jobs.splice(this.#jobs.findLastIndex(({ endedAt }) => endedAt <= end.endedAt) + 1, 0, end);
    if (this.#jobs.length > QUARANTINE_JOBS_WINDOW) this.#jobs.shift();
    // A job that succeeded is never a reason for a quarantine.
    if (failure === null) return undefined;
    if (this.count().failures >= QUARANTINE_FAILURES_MIN) return { reason: "failures", evidence: this.#evidence() };
    if (this.#of("prompt") >= REFUSED_PROMPTS_MAX) return { reason: "refused_prompts", evidence: this.#evidence() };
    return undefined;
  }

  /** The node joined: adds failures from the last day of the node and its host. */
  carry(failures: number): void {
    this.#carried = failures;
  }

  /** The node was quarantined: clears the record, so that it is not quarantined again for the same failures. */
  startAnew(at: number): void {
    this.#carried = 0;
    this.#since = Math.max(this.#since, at);
    this.#jobs = this.#jobs.filter((job) => !this.#isOver(job));
  }

  /**
   * Whether the node has too many failures only because of misses (no output, although another node returned some). A
   * builder can cause misses.
   */
  get restsOnMisses(): boolean {
    return this.count().failures - this.#of("miss") < QUARANTINE_FAILURES_MIN;
  }

  forgetMisses(at: number): void {
    this.#missesSince = Math.max(this.#missesSince, at);
    this.#jobs = this.#jobs.filter((job) => !this.#isOver(job));
  }

  /** The jobs that count, and the times from which they count. */
  get window(): { jobs: readonly JobEnd[]; since: number; missesSince: number; excuses: readonly ExcusedPeriod[] } {
    return { jobs: this.#jobs, since: this.#since, missesSince: this.#missesSince, excuses: this.#excuses };
  }

  /** Ignores the node's silences and lost connections in this period, because the node did not cause them. */
  forgive(excuse: ExcusedPeriod): void {
    this.#excuses.push(excuse);
    if (this.#excuses.length > EXCUSES_MAX) this.#excuses.shift();
    this.#jobs = this.#jobs.filter((job) => !this.#isOver(job));
  }

  count(): { jobs: number; failures: number } {
    const harmless = this.#of(null) + this.#of("prompt");
    const carried = Math.min(this.#carried, QUARANTINE_JOBS_WINDOW - this.#jobs.length);
    return { jobs: this.#jobs.length + carried, failures: this.#jobs.length - harmless + carried };
  }

  /** Whether the job is excused or ended before the window. */
  #isOver({ failure, endedAt }: JobEnd): boolean {
    if (endedAt < this.#since || (failure === "miss" && endedAt <= this.#missesSince)) return true;
    const isSilence = failure === "silent" || failure === "lost";
    if (isSilence && this.#excuses.some(({ from, until }) => from <= endedAt && endedAt <= until)) return true;
    return this.#jobs.length === QUARANTINE_JOBS_WINDOW && endedAt < (this.#jobs[0]?.endedAt ?? NEVER);
  }

  /** Whether another attempt of the same request already fell silent on this node. */
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

  #evidence(): QuarantineVerdict["evidence"] {
    const kinds = new Map<string, number>();
    for (const { failure } of this.#jobs) {
      if (failure !== null) kinds.set(failure, (kinds.get(failure) ?? 0) + 1);
    }
    return { ...this.count(), kinds: Object.fromEntries(kinds) };
  }

  #of(failure: AttemptFailure | null): number {
    return this.#jobs.filter((job) => job.failure === failure).length;
  }
}

const wereUnderWayTogether = (one: JobEnd, other: JobEnd): boolean =>
  one.offeredAt <= other.endedAt && other.offeredAt <= one.endedAt;
