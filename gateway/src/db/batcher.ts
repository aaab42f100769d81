/**
 * Sends operations to the database in batches: while one batch is in flight, new operations collect for the next. There
 * is no timer, so a single operation waits for nothing. Under load a round trip serves up to `sizeMax` operations.
 * - A batch that did not reach the database fails as a whole.
 * - A batch that the database refused is repeated operation by operation, so that an invalid operation fails alone.
 * - With `apart`, operations of a refused batch run on other connections (account-queues.ts). Meanwhile the next
 *   batches leave out their accounts, so a locked account delays others by one batch at most.
 * - With `waitMaxMs`, retryable failures are sent again with the same IDs until that time has passed. Without it the
 *   caller decides.
 */
import { type Clock, sleep } from "../base/clock.ts";
import { type Deadline, openDeadlines } from "../base/deadlines.ts";
import { UnreachableError } from "../base/dependency.ts";
import { invariant } from "../base/invariant.ts";
import { Histogram } from "../base/metric-counters.ts";
import { computeRetryPauseMs } from "../base/retry-pauses.ts";
import { AccountQueues, type QueuedOperationOutcome } from "./account-queues.ts";

/** Statistics since the start, including failed batches. */
export interface BatchFigures {
  sizes: Histogram;
  /** How long operations waited before their batch was sent, in seconds. */
  waitS: Histogram;
  /** How long batches were in flight, in seconds. */
  tripS: Histogram;
  /** How many tries failed because another transaction had locked an account. */
  lockWaits: number;
}

const SIZES = [1, 2, 4, 8, 16, 32, 64, 128];
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/** How long an operation is retried separately from the batches while another transaction locks its account. */
const APART_WAIT_MS_MAX = 4_000;
/** The pause between two tries. */
const APART_PAUSE_MS = 250;

/** Runs operations separately when they would delay the batches, for example because their account is locked. */
interface Apart<Op, Result> {
  /** Sends the operations on separate connections, where a statement waits only briefly for a lock. */
  send: (ops: Op[]) => Promise<Result[]>;
  /** Returns the lock keys of an operation: the accounts that it changes. */
  keysOf: (op: Op) => string[];
  /** Returns those lock keys of the operations that other transactions have locked. */
  locked: (ops: Op[]) => Promise<Set<string>>;
  /** Whether the error is a lock timeout. */
  isWait: (error: unknown) => boolean;
}

interface BatcherOptions<Op, Result> {
  clock: Clock;
  sizeMax: number;
  /** Whether the error is a lost connection: the outcome is unknown and a retry may succeed. */
  isConnectionLoss: (error: unknown) => boolean;
  /** How long a caller waits at most. Afterwards the operation fails with its latest error. */
  waitMaxMs?: number;
  /** Called for a timed-out operation that the database may have executed, as soon as it is no longer in flight. */
  undo?: (op: Op) => void;
  apart?: Apart<Op, Result>;
}

interface Waiting<Op, Result> {
  op: Op;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
  since: number;
  isOver: boolean;
  /** The operation was sent, and its outcome is unknown. */
  isInDoubt: boolean;
  trouble: unknown;
  due: Deadline<Waiting<Op, Result>> | undefined;
}

export class Batcher<Op, Result> {
  readonly figures: BatchFigures = {
    sizes: new Histogram(SIZES),
    waitS: new Histogram(SECONDS),
    tripS: new Histogram(SECONDS),
    lockWaits: 0,
  };
  readonly #send: (ops: Op[]) => Promise<Result[]>;
  readonly #options: BatcherOptions<Op, Result>;
  #queue: Waiting<Op, Result>[] = [];
  #isRunning = false;
  #open = 0;
  #idle: (() => void)[] = [];
  readonly #lanes = new AccountQueues<Waiting<Op, Result>>({
    serve: (waiting) => this.#serveApart(waiting),
    giveBack: (rest) => this.#enqueue(rest),
    refuse: (rest, { trouble }) => {
      for (const waiting of rest) this.#fail(waiting, trouble);
      this.#stillWaiting(rest);
    },
  });
  readonly #deadlines: ReturnType<typeof openDeadlines<Waiting<Op, Result>>> | undefined;

  constructor(send: (ops: Op[]) => Promise<Result[]>, options: BatcherOptions<Op, Result>) {
    this.#send = send;
    this.#options = options;
    const { clock, waitMaxMs } = options;
    if (waitMaxMs === undefined) return;
    const tooLong = () => new UnreachableError("database", `no response within ${waitMaxMs} ms`);
    this.#deadlines = openDeadlines(clock, waitMaxMs, (waiting) => this.#fail(waiting, waiting.trouble ?? tooLong()));
  }

  add(op: Op): Promise<Result> {
    return new Promise((resolve, reject) => {
      const { clock } = this.#options;
      const since = clock.monotonic();
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
      const lane = this.#lanes.isEmpty ? undefined : this.#lanes.keyOf(this.#options.apart?.keysOf(op) ?? []);
      if (lane !== undefined) return this.#lanes.put(lane, waiting);
      this.#queue.push(waiting);
      // Starts after pending socket data was read, so that requests that arrived together share a batch.
      this.#start((task) => clock.soon(task));
    });
  }

  /** Resolves when every operation has a result. */
  idle(): Promise<void> {
    if (this.#open === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Puts operations of the previous batch at the head of the queue. */
  #enqueue(waiting: Waiting<Op, Result>[]): void {
    if (waiting.length === 0) return;
    this.#queue.unshift(...waiting);
    this.#start(queueMicrotask);
  }

  #start(next: (task: () => void) => void): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    next(() => void this.#run());
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#stillWaiting(this.#queue.splice(0, this.#options.sizeMax));
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
      const { apart } = this.#options;
      const isShared = this.#isShared(error);
      if (!isShared && apart !== undefined && (batch.length > 1 || apart.isWait(error)))
        return await this.#separate(batch, error, apart);
      if (!isShared && batch.length > 1) {
        for (const waiting of this.#stillWaiting(batch)) await this.#serve(this.#stillWaiting([waiting]));
        return;
      }
      for (const waiting of batch) this.#failed(waiting, error);
      if (batch.some(({ isOver }) => !isOver)) await sleep(this.#options.clock, computeRetryPauseMs(failures));
      batch = this.#stillWaiting(batch);
    }
  }

  #isShared(error: unknown): boolean {
    return error instanceof UnreachableError || this.#options.isConnectionLoss(error);
  }

  /** Records the error of a failed try, and rejects operations for which a retry is pointless. */
  #failed(waiting: Waiting<Op, Result>, error: unknown): void {
    const isShared = this.#isShared(error);
    const isAway = error instanceof UnreachableError;
    waiting.trouble = error;
    if (isShared && !(isAway && !error.maybeDone)) waiting.isInDoubt = true;
    if (isAway || !isShared || this.#options.waitMaxMs === undefined) this.#fail(waiting, error);
  }

  /**
   * Runs the operations of a refused batch separately, grouped by account. After a lock timeout, only those of locked
   * accounts run separately, and the others join the next batch.
   */
  async #separate(batch: Waiting<Op, Result>[], error: unknown, apart: Apart<Op, Result>): Promise<void> {
    const ops = this.#stillWaiting(batch).map(({ op }) => op);
    const none = (): Set<string> => new Set();
    // Finds the operations of locked accounts, so that only these run separately. If that fails too, all operations run
    // separately, and each gets its own error.
    const locked = apart.isWait(error) && ops.length > 0 ? await apart.locked(ops).catch(none) : none();
    const free: Waiting<Op, Result>[] = [];
    for (const waiting of this.#stillWaiting(batch)) {
      const keys = apart.keysOf(waiting.op);
      const key = locked.size > 0 ? keys.find((one) => locked.has(one)) : keys[0];
      waiting.trouble = error;
      if (key === undefined) free.push(waiting);
      else this.#lanes.put(key, waiting);
    }
    this.#enqueue(free);
  }

  async #serveApart(waiting: Waiting<Op, Result>): Promise<QueuedOperationOutcome> {
    const { apart } = this.#options;
    invariant(apart !== undefined, "only operations with connections of their own are served apart");
    const { clock } = this.#options;
    for (const began = clock.monotonic(); this.#stillWaiting([waiting]).length > 0; ) {
      const error = await this.#attempt([waiting], apart.send);
      if (error === undefined) return "done";
      const isWait = apart.isWait(error);
      if (isWait && clock.monotonic() - began < APART_WAIT_MS_MAX) {
        // While it waits, a statement keeps the locks that it already has. The pause lets other transactions take
        // these.
        await sleep(clock, APART_PAUSE_MS);
        continue;
      }
      this.#failed(waiting, error);
      if (!this.#isShared(error)) return isWait ? "blocked" : "failed";
      this.#enqueue(this.#stillWaiting([waiting]));
      return "open";
    }
    return "failed";
  }

  /**
   * Returns the operations that still wait for a result. Undoes those that already failed, as by a timeout, but may
   * have been executed. That is possible here because none of the batch is in flight.
   */
  #stillWaiting(batch: Waiting<Op, Result>[]): Waiting<Op, Result>[] {
    for (const waiting of batch) {
      if (!waiting.isOver || !waiting.isInDoubt) continue;
      waiting.isInDoubt = false;
      this.#options.undo?.(waiting.op);
    }
    return batch.filter(({ isOver }) => !isOver);
  }

  /** Sends the batch once. Returns the error, or undefined when every operation has a result. */
  async #attempt(batch: Waiting<Op, Result>[], send = this.#send): Promise<unknown> {
    const { clock } = this.#options;
    const began = clock.monotonic();
    this.figures.sizes.add(batch.length);
    try {
      const results = await send(batch.map(({ op }) => op));
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
      if (this.#options.apart?.isWait(error)) this.figures.lockWaits += 1;
      return error ?? new Error("a batch of database operations was rejected without an error");
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
