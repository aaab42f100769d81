/**
 * A few worker threads that count long prompts, one at a time each. They start when first needed. A thread that dies
 * takes nothing with it: its job goes to a fresh one, and fails only if that one dies of it as well.
 */
import type { Worker } from "node:worker_threads";

/** Too many prompts are waiting to be counted. */
export class PoolBusyError extends Error {
  override name = "PoolBusyError";
}

export class PoolClosedError extends Error {
  override name = "PoolClosedError";
}

/** What a worker posts back. */
export type Reply<Result> = { result: Result } | { error: string };

export interface PoolOptions {
  startWorker: () => Worker;
  workersMax: number;
  /** How many jobs may wait, and how much they may weigh together. */
  waitingMax: number;
  waitingUnitsMax: number;
  onCrash: (error: Error) => void;
}

interface Job<Result> {
  message: unknown;
  units: number;
  crashes: number;
  resolve: (result: Result) => void;
  reject: (error: Error) => void;
}

const CRASHES_MAX = 2;

export class WorkerPool<Result> {
  readonly #options: PoolOptions;
  readonly #waiting: Job<Result>[] = [];
  #waitingUnits = 0;
  /** Every live worker with the job it is at. */
  readonly #workers = new Map<Worker, Job<Result> | null>();
  #isClosed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** `units` is what the job weighs while it waits. */
  run(message: unknown, units: number): Promise<Result> {
    if (this.#isClosed) return Promise.reject(new PoolClosedError("counting has ended"));
    const { waitingMax, waitingUnitsMax } = this.#options;
    if (this.#waiting.length >= waitingMax || this.#waitingUnits + units > waitingUnitsMax) {
      return Promise.reject(new PoolBusyError(`${this.#waiting.length} prompts are waiting to be counted`));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ message, units, crashes: 0, resolve, reject });
      this.#waitingUnits += units;
      this.#assign();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const job of this.#waiting.splice(0)) job.reject(new PoolClosedError("counting has ended"));
    await Promise.all([...this.#workers.keys()].map((worker) => worker.terminate()));
  }

  #assign(): void {
    while (this.#waiting.length > 0) {
      const worker = this.#idleWorker();
      if (worker === undefined) return;
      const job = this.#waiting.shift() as Job<Result>;
      this.#waitingUnits -= job.units;
      this.#workers.set(worker, job);
      // A worker holds the process open only while somebody waits for it.
      worker.ref();
      worker.postMessage(job.message);
    }
  }

  #idleWorker(): Worker | undefined {
    for (const [worker, job] of this.#workers) if (job === null) return worker;
    return this.#workers.size < this.#options.workersMax ? this.#startWorker() : undefined;
  }

  #startWorker(): Worker {
    const worker = this.#options.startWorker();
    let cause = new Error("worker ended");
    worker.unref();
    worker.on("message", (reply: Reply<Result>) => this.#finish(worker, reply));
    worker.on("error", (error: Error) => {
      cause = error;
    });
    worker.on("exit", () => this.#bury(worker, cause));
    this.#workers.set(worker, null);
    return worker;
  }

  #finish(worker: Worker, reply: Reply<Result>): void {
    const job = this.#workers.get(worker);
    this.#workers.set(worker, null);
    worker.unref();
    if ("error" in reply) job?.reject(new Error(`counting failed: ${reply.error}`));
    else job?.resolve(reply.result);
    this.#assign();
  }

  #bury(worker: Worker, cause: Error): void {
    const job = this.#workers.get(worker);
    this.#workers.delete(worker);
    if (this.#isClosed) {
      job?.reject(new PoolClosedError("counting has ended"));
      return;
    }
    this.#options.onCrash(cause);
    if (job === undefined || job === null) return;
    job.crashes++;
    if (job.crashes < CRASHES_MAX) {
      this.#waiting.unshift(job);
      this.#waitingUnits += job.units;
    } else {
      job.reject(new Error("the worker that counted this prompt died, twice", { cause }));
    }
    this.#assign();
  }
}
