/**
 * Which of a node's last jobs it failed, blame decided before anything counts. Pure. A client that disconnected, a refusal
 * before acceptance and a cut at the cap are no failures; what the plane lost does not come here at all. Jobs in flight
 * when a node's connection ended are one failure together: a broken cable is one fault, not one for every request it carried.
 * A node that is silent while it is connected failed each of its requests, each once.
 *
 * The jobs of all gateways count together. What others saw comes a little later, in any order and perhaps twice, so a job
 * takes its place by the time of its end, and once.
 *
 * Two kinds of failure can be brought about by a builder who means a node ill, and are bounded for that. A miss: with
 * temperature the same prompt may end at once on one node and not on another, so a verdict that rests on misses has to be
 * confirmed. A refused prompt, or output format: near the model's limit it is the builder's doing, and elsewhere one account
 * counts a few times only.
 */
import { FAILURES_MAX, failuresCarried, JOBS_WINDOW } from "../base/node-thresholds.ts";
import type { QuarantineReason } from "../base/states.ts";
import type { Failure } from "../dispatch/running-attempt.ts";

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
/** Of a job's id: its request. */
const REQUEST_CHARS = 26;
/** A time before every other. */
const NEVER = Number.NEGATIVE_INFINITY;

export class Reliability {
  /** In the order of their ends. */
  #jobs: JobEnd[] = [];
  /** The last failures that stand for everything that was in flight then. */
  readonly #losses: JobEnd[] = [];
  /** Failures of the last day, the node's own and its host's retired nodes', in the place of jobs that are not there yet. */
  #carried = 0;
  /** What ended before counts no more: at all, or if it was a miss. */
  #since = NEVER;
  #missesSince = NEVER;
  readonly #excuses: Excuse[] = [];

  /** The verdict when this job was one too many. */
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
    // Most jobs end well, and what was not too many before is not too many now.
    if (failure === null) return undefined;
    if (this.count().failures >= FAILURES_MAX) return { reason: "failures", evidence: this.#evidence() };
    if (this.#of("prompt") >= REFUSED_PROMPTS_MAX) return { reason: "refused_prompts", evidence: this.#evidence() };
    return undefined;
  }

  /** The node joined; this is what was seen of it, and of what its host retired, in the last day. */
  carry(lastDay: { answers: number; failures: number }): void {
    this.#carried = failuresCarried(lastDay);
  }

  /** The node was barred: it is not barred for the same again. */
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

  /** It was not the node that was silent then. */
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

  /** It was forgotten, or lies before all that count. */
  #isOver({ failure, endedAt }: JobEnd): boolean {
    if (endedAt < this.#since || (failure === "miss" && endedAt <= this.#missesSince)) return true;
    const isSilence = failure === "silent" || failure === "lost";
    if (isSilence && this.#excuses.some(({ from, until }) => from <= endedAt && endedAt <= until)) return true;
    return this.#jobs.length === JOBS_WINDOW && endedAt < (this.#jobs[0]?.endedAt ?? NEVER);
  }

  /** The same request, tried on this node again. */
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
