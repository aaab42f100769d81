/**
 * Tests for each model whether its engine enforces a requested output format (structured output). A test job runs at
 * the agent's start, and when a model returns after its engine was unreachable. Models are tested one at a time,
 * because each may have to be loaded. Only models that passed are announced.
 */
import type { Clock } from "../clock.ts";
import { type Engine, EngineError } from "../engines/engine.ts";
import { describeWithoutMessage, type Log } from "../log.ts";

/**
 * The first pause before repeating a test that the engine did not answer. The pause doubles up to the maximum below.
 */
const AGAIN_MS_MIN = 30_000;
const AGAIN_MS_MAX = 1_800_000;

interface FormatChecksOptions {
  engine: Pick<Engine, "keepsFormat">;
  clock: Clock;
  log: Log;
  /** Called when a model has passed its test. */
  changed: () => void;
  /** The name of the tested ability in log lines. */
  what?: string;
}

interface Candidate {
  model: string;
  tries: number;
  cancelTimer: () => void;
}

export class FormatSupportChecks {
  readonly #options: FormatChecksOptions;
  /** The test of each served model. A model that returns after an outage gets a new entry and is tested again. */
  readonly #candidates = new Map<string, Candidate>();
  readonly #passed = new Set<string>();
  #last: Promise<void> = Promise.resolve();

  constructor(options: FormatChecksOptions) {
    this.#options = options;
  }

  get #what(): string {
    return this.#options.what ?? "structured output";
  }

  passed(model: string): boolean {
    return this.#passed.has(model);
  }

  /** Sets the models that are served from now on, and tests those that are new. */
  serve(models: readonly string[]): void {
    for (const [model, candidate] of this.#candidates) {
      if (models.includes(model)) continue;
      candidate.cancelTimer();
      this.#candidates.delete(model);
      this.#passed.delete(model);
    }
    if (this.#options.engine.keepsFormat === undefined) return;
    for (const model of models) {
      if (this.#candidates.has(model)) continue;
      const candidate = { model, tries: 0, cancelTimer: () => {} };
      this.#candidates.set(model, candidate);
      this.#check(candidate);
    }
  }

  #check(candidate: Candidate): void {
    this.#last = this.#last.then(() => this.#try(candidate));
  }

  async #try(candidate: Candidate): Promise<void> {
    const { engine, log, changed } = this.#options;
    const { model } = candidate;
    const isServed = (): boolean => this.#candidates.get(model) === candidate;
    if (!isServed()) return;
    try {
      const passes = await engine.keepsFormat?.(model);
      if (!isServed()) return;
      log.info({ model, passes }, `engine tested for ${this.#what}`);
      if (!passes) return;
      this.#passed.add(model);
      changed();
    } catch (error) {
      if (isServed()) this.#later(candidate, error);
    }
  }

  #later(candidate: Candidate, error: unknown): void {
    const { clock, log } = this.#options;
    const reason = error instanceof EngineError ? { reason: error.message } : describeWithoutMessage(error);
    log.debug({ model: candidate.model, ...reason }, `testing the engine for ${this.#what} failed; retrying`);
    const waitMs = Math.min(AGAIN_MS_MAX, AGAIN_MS_MIN * 2 ** Math.min(candidate.tries++, 10));
    candidate.cancelTimer = clock.after(waitMs, () => this.#check(candidate));
  }
}
