/**
 * Which of a node's last jobs it failed, blame decided before anything counts. Pure. A client that goes away, a refusal
 * before acceptance and a cut at the cap are no failures; what the plane lost does not come here at all. Jobs that were under way when a node fell silent or was cut off
 * are one failure together: a broken cable is one fault, not one for every request it carried.
 *
 * Two kinds of failure can be brought about by a builder who means a node ill, and are bounded for that. A miss: with
 * temperature the same prompt may end at once on one node and not on another, so a verdict that rests on misses has to be
 * confirmed. A refused prompt: near the model's limit it is the builder's doing, and elsewhere one account counts a few
 * times only.
 */
import type { QuarantineReason } from "../base/states.ts";
import type { Failure } from "../dispatch/offers.ts";

export const JOBS_WINDOW = 20;
export const FAILURES_MAX = 5;
/** "The engine cannot take this prompt" is the client's fault now and then; as a habit it is a node's excuse. */
const REFUSED_PROMPTS_MAX = 10;
const REFUSED_PROMPTS_PER_ACCOUNT_MAX = 3;
/** Beyond this part of the context, tokenizers and templates may differ enough for an engine to refuse in good faith. */
const NEAR_LIMIT = 3 / 4;

export interface JobEnd {
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

interface Job {
  failure: Failure | null;
  accountId: string | undefined;
  endedAt: number;
}

export class Reliability {
  #jobs: Job[] = [];
  #silentAt = Number.NEGATIVE_INFINITY;

  /** The verdict when this job was one too many. */
  note({ failure, offeredAt, endedAt, origin }: JobEnd): Verdict | undefined {
    if (failure === "silent" || failure === "lost") {
      if (offeredAt <= this.#silentAt) return undefined;
      this.#silentAt = endedAt;
    }
    if (failure === "prompt" && origin !== undefined && !this.#countsRefusal(origin)) return undefined;
    this.#jobs.push({ failure, accountId: origin?.accountId, endedAt });
    if (this.#jobs.length > JOBS_WINDOW) this.#jobs.shift();
    // Most jobs end well, and what was not too many before is not too many now.
    if (failure === null) return undefined;
    if (this.count().failures >= FAILURES_MAX) return { reason: "failures", evidence: this.#evidence() };
    if (this.#of("prompt") >= REFUSED_PROMPTS_MAX) return { reason: "refused_prompts", evidence: this.#evidence() };
    return undefined;
  }

  /** Without its misses the node would not have failed too often. */
  get restsOnMisses(): boolean {
    return this.count().failures - this.#of("miss") < FAILURES_MAX;
  }

  forgetMisses(): void {
    this.#jobs = this.#jobs.filter(({ failure }) => failure !== "miss");
  }

  /** It was not the node that was silent since then. */
  forgive(sinceMs: number): void {
    const isExcused = ({ failure, endedAt }: Job): boolean =>
      (failure === "silent" || failure === "lost") && endedAt >= sinceMs;
    this.#jobs = this.#jobs.filter((job) => !isExcused(job));
  }

  count(): { jobs: number; failures: number } {
    const harmless = this.#of(null) + this.#of("prompt");
    return { jobs: this.#jobs.length, failures: this.#jobs.length - harmless };
  }

  #countsRefusal({ accountId, contextPart }: NonNullable<JobEnd["origin"]>): boolean {
    if (contextPart >= NEAR_LIMIT) return false;
    const before = this.#jobs.filter((job) => job.failure === "prompt" && job.accountId === accountId).length;
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
