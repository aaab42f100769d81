/**
 * Collects operations while a batch is on its way and sends what gathered as the next one: one batch in flight, no timer.
 * Under load a round trip serves up to `sizeMax` operations; alone, an operation waits for nothing.
 *
 * A batch that fails because the connection was lost is sent again with the same ids (the operations are idempotent)
 * until `retryForMs` has passed. A batch that fails for another reason is repeated one operation at a time, so that a
 * bad operation never fails its neighbours.
 */
import { type Clock, sleep } from "../base/clock.ts";
import { Away } from "../base/dependency.ts";
import { invariant } from "../base/invariant.ts";

interface BatcherOptions {
  clock: Clock;
  sizeMax: number;
  retryForMs: number;
  /** Whether an error says that the connection was lost, so that the outcome is unknown and a repeat may help. */
  isConnectionLoss: (error: unknown) => boolean;
  /** While the store is known to be away. Where somebody waits for the outcome it is better refused at once. */
  whenAway?: "retry" | "refuse";
}

interface Waiting<Op, Result> {
  op: Op;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

const RETRY_PAUSE_MS = 100;

export class Batcher<Op, Result> {
  readonly #send: (ops: Op[]) => Promise<Result[]>;
  readonly #options: BatcherOptions;
  #queue: Waiting<Op, Result>[] = [];
  #running: Promise<void> | undefined;

  constructor(send: (ops: Op[]) => Promise<Result[]>, options: BatcherOptions) {
    this.#send = send;
    this.#options = options;
  }

  add(op: Op): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ op, resolve, reject });
      // Starting on the next microtask lets everything of this turn join the first batch.
      this.#running ??= Promise.resolve().then(() => this.#run());
    });
  }

  /** Resolves when nothing is queued or on its way. */
  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, this.#options.sizeMax);
      await this.#serve(batch);
    }
    this.#running = undefined;
  }

  async #serve(batch: Waiting<Op, Result>[]): Promise<void> {
    try {
      const results = await this.#sendThroughLoss(batch.map((waiting) => waiting.op));
      invariant(results.length === batch.length, "a batch has one result per operation");
      for (const [i, waiting] of batch.entries()) waiting.resolve(results[i] as Result);
    } catch (error) {
      if (batch.length === 1 || this.#options.isConnectionLoss(error)) {
        for (const waiting of batch) waiting.reject(error);
        return;
      }
      for (const waiting of batch) await this.#serve([waiting]);
    }
  }

  async #sendThroughLoss(ops: Op[]): Promise<Result[]> {
    const { clock, retryForMs, isConnectionLoss, whenAway = "retry" } = this.#options;
    const deadline = clock.monotonic() + retryForMs;
    for (;;) {
      try {
        return await this.#send(ops);
      } catch (error) {
        if (!isConnectionLoss(error) || clock.monotonic() >= deadline) throw error;
        if (whenAway === "refuse" && error instanceof Away) throw error;
        await sleep(clock, RETRY_PAUSE_MS);
      }
    }
  }
}
