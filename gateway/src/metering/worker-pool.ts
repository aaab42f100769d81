/**
 * A pool of worker threads that count long prompts and parse large bodies. Each thread handles one job at a time and
 * starts when first needed. Jobs wait in lanes, one per account, and lanes take turns, so an account with many jobs
 * delays only itself. If a thread dies, its job runs again on a new thread, and fails only if that dies too.
 */
import type { Worker } from "node:worker_threads";

/** Thrown when too many jobs are waiting. */
export class PoolBusyError extends Error {
  override name = "PoolBusyError";
}

export class PoolClosedError extends Error {
  override name = "PoolClosedError";
}

/** A worker's reply: the result of the job, or the message of the error that the job threw. */
export type WorkerReply<Result> = { result: Result } | { error: string };

export interface PoolOptions {
  startWorker: () => Worker;
  workersMax: number;
  /** The maximum number of waiting jobs. `waitingUnitsMax`: the maximum sum of their `units`. */
  waitingMax: number;
  waitingUnitsMax: number;
  onCrash: (error: Error) => void;
}

interface JobOptions {
  /** The job's size. `waitingUnitsMax` limits the total size of all waiting jobs. */
  units: number;
  /** The lane in which the job waits, such as an account. */
  lane?: string;
}

interface Job<Result> {
  message: unknown;
  lane: string;
  units: number;
  crashes: number;
  resolve: (result: Result) => void;
  reject: (error: Error) => void;
}

const CRASHES_MAX = 2;

export class WorkerPool<Result> {
  readonly #options: PoolOptions;
  /** The jobs that wait, by lane, in the order of turns. */
  readonly #lanes = new Map<string, Job<Result>[]>();
  #waiting = 0;
  #waitingUnits = 0;
  /** All live workers, each with its current job. */
  readonly #workers = new Map<Worker, Job<Result> | null>();
  #isClosed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  run(message: unknown, { units, lane = "" }: JobOptions): Promise<Result> {
    if (this.#isClosed) return Promise.reject(new PoolClosedError("the worker threads have stopped"));
    const { waitingMax, waitingUnitsMax } = this.#options;
    if (this.#waiting >= waitingMax || this.#waitingUnits + units > waitingUnitsMax) {
      return Promise.reject(new PoolBusyError(`${this.#waiting} jobs are waiting for a worker thread`));
    }
    return new Promise((resolve, reject) => {
      this.#wait({ message, lane, units, crashes: 0, resolve, reject });
      this.#assign();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const job of [...this.#lanes.values()].flat())
      job.reject(new PoolClosedError("the worker threads have stopped"));
    this.#lanes.clear();
    this.#waiting = 0;
    await Promise.all([...this.#workers.keys()].map((worker) => worker.terminate()));
  }

  #assign(): void {
    while (this.#waiting > 0) {
      const worker = this.#idleWorker();
      if (worker === undefined) return;
      const job = this.#next();
      this.#workers.set(worker, job);
      // Keeps the process alive while a caller waits for this worker. An idle worker does not.
      worker.ref();
      worker.postMessage(job.message);
    }
  }

  #wait(job: Job<Result>): void {
    const lane = this.#lanes.get(job.lane);
    if (lane === undefined) this.#lanes.set(job.lane, [job]);
    else lane.push(job);
    this.#waiting += 1;
    this.#waitingUnits += job.units;
  }

  /** Takes the first job of the lane whose turn it is, and moves that lane to the end. */
  #next(): Job<Result> {
    const [name, lane] = this.#lanes.entries().next().value as [string, Job<Result>[]];
    const job = lane.shift() as Job<Result>;
    this.#lanes.delete(name);
    if (lane.length > 0) this.#lanes.set(name, lane);
    this.#waiting -= 1;
    this.#waitingUnits -= job.units;
    return job;
  }

  #idleWorker(): Worker | undefined {
    for (const [worker, job] of this.#workers) if (job === null) return worker;
    return this.#workers.size < this.#options.workersMax ? this.#startWorker() : undefined;
  }

  #startWorker(): Worker {
    const worker = this.#options.startWorker();
    let cause = new Error("worker ended");
    worker.unref();
    worker.on("message", (reply: WorkerReply<Result>) => this.#finish(worker, reply));
    worker.on("error", (error: Error) => {
      cause = error;
    });
    worker.on("exit", () => this.#bury(worker, cause));
    this.#workers.set(worker, null);
    return worker;
  }

  #finish(worker: Worker, reply: WorkerReply<Result>): void {
    const job = this.#workers.get(worker);
    this.#workers.set(worker, null);
    worker.unref();
    if ("error" in reply) job?.reject(new Error(`worker thread failed: ${reply.error}`));
    else job?.resolve(reply.result);
    this.#assign();
  }

  #bury(worker: Worker, cause: Error): void {
    const job = this.#workers.get(worker);
    this.#workers.delete(worker);
    if (this.#isClosed) {
      job?.reject(new PoolClosedError("the worker threads have stopped"));
      return;
    }
    this.#options.onCrash(cause);
    if (job === undefined || job === null) return;
    job.crashes++;
    if (job.crashes < CRASHES_MAX) this.#wait(job);
    else job.reject(new Error("the job failed: the worker thread that ran it crashed twice", { cause }));
    this.#assign();
  }
}
