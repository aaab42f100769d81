/**
 * Collects operations while a batch is on its way and sends what gathered as the next one: one batch in flight, no timer.
 * Under load a round trip serves up to `sizeMax` operations; alone, an operation waits for nothing.
 *
 * A batch that did not reach the store fails as a whole. One that the store refused is repeated one operation at a time, so
 * that a bad operation never fails its neighbours. With `waitMaxMs` what may help is sent again with the same ids (the
 * operations are idempotent) until that time has passed; without, whoever asked decides.
 */
import { type Clock, sleep } from "../base/clock.ts";
import { type Due, openDeadlines } from "../base/deadlines.ts";
import { Away } from "../base/dependency.ts";
import { Distribution } from "../base/figures.ts";
import { invariant } from "../base/invariant.ts";
import { growingPauseMs } from "../base/pauses.ts";

/** How a batcher does, since the start. Tries that failed are among them. */
export interface BatchFigures {
  sizes: Distribution;
  /** How long operations waited for their batch to leave. */
  waitS: Distribution;
  /** How long batches were on their way. */
  tripS: Distribution;
}

const SIZES = [1, 2, 4, 8, 16, 32, 64, 128];
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

interface BatcherOptions<Op> {
  clock: Clock;
  sizeMax: number;
  /** Whether an error says that the connection was lost, so that the outcome is unknown and a repeat may help. */
  isConnectionLoss: (error: unknown) => boolean;
  /** Nobody waits longer, however the store hangs. Then an operation fails with what went wrong last. */
  waitMaxMs?: number;
  /** Of an operation that was given up although the store may have done it: called once it can be undone. */
  undo?: (op: Op) => void;
}

interface Waiting<Op, Result> {
  op: Op;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
  since: number;
  isOver: boolean;
  /** It was sent, and nobody knows what became of it. */
  isInDoubt: boolean;
  trouble: unknown;
  due: Due<Waiting<Op, Result>> | undefined;
}

export class Batcher<Op, Result> {
  readonly figures: BatchFigures = {
    sizes: new Distribution(SIZES),
    waitS: new Distribution(SECONDS),
    tripS: new Distribution(SECONDS),
  };
  readonly #send: (ops: Op[]) => Promise<Result[]>;
  readonly #options: BatcherOptions<Op>;
  #queue: Waiting<Op, Result>[] = [];
  #isRunning = false;
  #open = 0;
  #idle: (() => void)[] = [];
  readonly #deadlines: ReturnType<typeof openDeadlines<Waiting<Op, Result>>> | undefined;

  constructor(send: (ops: Op[]) => Promise<Result[]>, options: BatcherOptions<Op>) {
    this.#send = send;
    this.#options = options;
    const { clock, waitMaxMs } = options;
    if (waitMaxMs === undefined) return;
    const tooLong = () => new Away("database", `no response within ${waitMaxMs} ms`);
    this.#deadlines = openDeadlines(clock, waitMaxMs, (waiting) => this.#fail(waiting, waiting.trouble ?? tooLong()));
  }

  add(op: Op): Promise<Result> {
    return new Promise((resolve, reject) => {
      const since = this.#options.clock.monotonic();
      const waiting: Waiting<Op, Result> = {
        op,
        resolve,
        reject,
        since,
        isOver: false,
        isInDoubt: false,
        trouble: undefined,
        due: undefined,
      };
      waiting.due = this.#deadlines?.add(waiting);
      this.#open += 1;
      this.#queue.push(waiting);
      if (this.#isRunning) return;
      this.#isRunning = true;
      // Starting on the next microtask lets everything of this turn join the first batch.
      void Promise.resolve().then(() => this.#run());
    });
  }

  /** Resolves when every operation has been answered, one way or the other. */
  idle(): Promise<void> {
    if (this.#open === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, this.#options.sizeMax).filter((waiting) => !waiting.isOver);
      if (batch.length === 0) continue;
      const now = this.#options.clock.monotonic();
      for (const { since } of batch) this.figures.waitS.add((now - since) / 1000);
      await this.#serve(batch);
    }
    this.#isRunning = false;
  }

  async #serve(batch: Waiting<Op, Result>[]): Promise<void> {
    for (let failures = 1; batch.length > 0; failures++) {
      const error = await this.#attempt(batch);
      if (error === undefined) return;
      const isAway = error instanceof Away;
      const isShared = isAway || this.#options.isConnectionLoss(error);
      if (!isShared && batch.length > 1) {
        for (const waiting of this.#stillWaiting(batch)) await this.#serve(this.#stillWaiting([waiting]));
        return;
      }
      for (const waiting of batch) {
        waiting.trouble = error;
        if (isShared && !(isAway && !error.maybeDone)) waiting.isInDoubt = true;
        if (isAway || !isShared || this.#options.waitMaxMs === undefined) this.#fail(waiting, error);
      }
      if (batch.some(({ isOver }) => !isOver)) await sleep(this.#options.clock, growingPauseMs(failures));
      batch = this.#stillWaiting(batch);
    }
  }

  /** Without those that were given up; nothing of theirs is on its way now, so what may have been done can be undone. */
  #stillWaiting(batch: Waiting<Op, Result>[]): Waiting<Op, Result>[] {
    for (const waiting of batch) {
      if (!waiting.isOver || !waiting.isInDoubt) continue;
      waiting.isInDoubt = false;
      this.#options.undo?.(waiting.op);
    }
    return batch.filter(({ isOver }) => !isOver);
  }

  /** Sends the batch once. What went wrong, or undefined where everybody has their answer. */
  async #attempt(batch: Waiting<Op, Result>[]): Promise<unknown> {
    const { clock } = this.#options;
    const began = clock.monotonic();
    this.figures.sizes.add(batch.length);
    try {
      const results = await this.#send(batch.map(({ op }) => op));
      invariant(results.length === batch.length, "a batch has one result per operation");
      for (let i = 0; i < batch.length; i++) {
        const waiting = batch[i] as Waiting<Op, Result>;
        if (waiting.isOver) {
          this.#options.undo?.(waiting.op);
          continue;
        }
        waiting.resolve(results[i] as Result);
        this.#end(waiting);
      }
      return undefined;
    } catch (error) {
      return error ?? new Error("a database batch failed, but no error was reported");
    } finally {
      this.figures.tripS.add((clock.monotonic() - began) / 1000);
    }
  }

  #fail(waiting: Waiting<Op, Result>, error: unknown): void {
    if (waiting.isOver) return;
    waiting.reject(error);
    this.#end(waiting);
  }

  #end(waiting: Waiting<Op, Result>): void {
    if (waiting.due !== undefined) this.#deadlines?.delete(waiting.due);
    waiting.isOver = true;
    this.#open -= 1;
    if (this.#open > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}
