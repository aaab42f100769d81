/**
 * Models that gave nothing but failures while their engine's server answers: after a failed job the model is tried with the
 * smallest of jobs, and one that fails too counts as dead until a later try succeeds. Tries come more and more rarely.
 */
import type { Clock } from "../clock.ts";

const TRY_AGAIN_MS_MIN = 1_000;
const TRY_AGAIN_MS_MAX = 30_000;

interface ModelDoubtsOptions {
  /** Whether the model serves anything at all. */
  works: (model: string) => Promise<boolean>;
  /** A model died or came back. */
  changed: () => void;
  clock: Clock;
}

interface Doubt {
  failures: number;
  trying: boolean;
  cancelTimer: () => void;
}

export class ModelDoubts {
  readonly #options: ModelDoubtsOptions;
  readonly #doubts = new Map<string, Doubt>();

  constructor(options: ModelDoubtsOptions) {
    this.#options = options;
  }

  isDead(model: string): boolean {
    return (this.#doubts.get(model)?.failures ?? 0) > 0;
  }

  /** A job of this model failed. What is in doubt already is not tried any sooner for it. */
  doubt(model: string): void {
    if (this.#doubts.has(model)) return;
    const doubt: Doubt = { failures: 0, trying: false, cancelTimer: () => {} };
    this.#doubts.set(model, doubt);
    this.#try(model, doubt);
  }

  /** The engine was unreachable and is back: what was dead may live. */
  tryNow(): void {
    for (const [model, doubt] of this.#doubts) this.#try(model, doubt);
  }

  /** Forgets everything. */
  clear(): void {
    for (const { cancelTimer } of this.#doubts.values()) cancelTimer();
    this.#doubts.clear();
  }

  #try(model: string, doubt: Doubt): void {
    if (doubt.trying) return;
    doubt.cancelTimer();
    doubt.trying = true;
    void this.#options.works(model).then((works) => {
      doubt.trying = false;
      if (this.#doubts.get(model) !== doubt) return;
      const wasDead = doubt.failures > 0;
      if (works) this.#doubts.delete(model);
      else this.#failed(model, doubt);
      if (wasDead === works) this.#options.changed();
    });
  }

  #failed(model: string, doubt: Doubt): void {
    const waitMs = Math.min(TRY_AGAIN_MS_MAX, TRY_AGAIN_MS_MIN * 2 ** Math.min(doubt.failures, 10));
    doubt.failures++;
    doubt.cancelTimer = this.#options.clock.after(waitMs, () => this.#try(model, doubt));
  }
}
