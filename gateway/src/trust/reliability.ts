/**
 * Which of a node's last jobs it failed, blame decided before anything counts. Pure. A client that goes away, a refusal
 * before acceptance and a cut at the cap are no failures. Jobs that were under way when a node fell silent or was cut off
 * are one failure together: a broken cable is one fault, not one for every request it carried.
 */
import type { Failure } from "../dispatch/offers.ts";

export const JOBS_WINDOW = 20;
export const FAILURES_MAX = 5;
/** "The engine cannot take this prompt" is the client's fault now and then; as a habit it is a node's excuse. */
const REFUSED_PROMPTS_MAX = 10;

export interface JobEnd {
  failure: Failure | null;
  /** In the clock's monotonic milliseconds. */
  offeredAt: number;
  endedAt: number;
}

export interface Verdict {
  reason: "failures" | "speed" | "canary" | "refused_prompts";
  evidence: Record<string, unknown>;
}

export class Reliability {
  readonly #jobs: (Failure | null)[] = [];
  #silentAt = Number.NEGATIVE_INFINITY;

  /** The verdict when this job was one too many. */
  note({ failure, offeredAt, endedAt }: JobEnd): Verdict | undefined {
    if (failure === "silent" || failure === "lost") {
      if (offeredAt <= this.#silentAt) return undefined;
      this.#silentAt = endedAt;
    }
    this.#jobs.push(failure);
    if (this.#jobs.length > JOBS_WINDOW) this.#jobs.shift();
    // Most jobs end well, and what was not too many before is not too many now.
    if (failure === null) return undefined;
    if (this.count().failures >= FAILURES_MAX) return { reason: "failures", evidence: this.#evidence() };
    if (this.#of("prompt") >= REFUSED_PROMPTS_MAX) return { reason: "refused_prompts", evidence: this.#evidence() };
    return undefined;
  }

  count(): { jobs: number; failures: number } {
    const harmless = this.#of(null) + this.#of("prompt");
    return { jobs: this.#jobs.length, failures: this.#jobs.length - harmless };
  }

  #evidence(): Verdict["evidence"] {
    const kinds = new Map<string, number>();
    for (const failure of this.#jobs) {
      if (failure !== null) kinds.set(failure, (kinds.get(failure) ?? 0) + 1);
    }
    return { ...this.count(), kinds: Object.fromEntries(kinds) };
  }

  #of(failure: Failure | null): number {
    return this.#jobs.filter((job) => job === failure).length;
  }
}
