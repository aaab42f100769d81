/**
 * Detects models that fail although their engine's server answers. After a failed job, the model is tested with a
 * minimal job. If the test also fails, the model counts as dead until a later test succeeds. Tests become less and less
 * frequent.
 */
import type { Clock } from "../clock.ts";

const TRY_AGAIN_MS_MIN = 1_000;
const TRY_AGAIN_MS_MAX = 30_000;

interface ModelDoubtsOptions {
  /** Runs a minimal job and returns whether the model answers. */
  works: (model: string) => Promise<boolean>;
  /** Called when a model became dead or was restored. */
  changed: () => void;
  clock: Clock;
}

interface Doubt {
  failures: number;
  trying: boolean;
  cancelTimer: () => void;
}

export class ModelLiveness {
  readonly #options: ModelDoubtsOptions;
  readonly #doubts = new Map<string, Doubt>();

  constructor(options: ModelDoubtsOptions) {
    this.#options = options;
  }

  isDead(model: string): boolean {
    return (this.#doubts.get(model)?.failures ?? 0) > 0;
  }

  /** Records a failed job of the model and schedules a test. A test that is already scheduled keeps its time. */
  doubt(model: string): void {
    if (this.#doubts.has(model)) return;
    const doubt: Doubt = { failures: 0, trying: false, cancelTimer: () => {} };
    this.#doubts.set(model, doubt);
    this.#try(model, doubt);
  }

  /** Tests dead models now, because the engine is reachable again. */
  tryNow(): void {
    for (const [model, doubt] of this.#doubts) this.#try(model, doubt);
  }

  /** Cancels all tests and restores all models. */
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
