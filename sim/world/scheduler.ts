/**
 * Virtual time: a queue of due events. After each event all code that can continue does (promises resolve by
 * microtasks, and a turn of the event loop begins when none are left); only then does time advance.
 */

/**
 * Read before real-time-guard.ts forbids `setImmediate`. The simulated world uses nothing else of the real event loop.
 */
const { setImmediate: nextTurn } = globalThis;

interface Due {
  atMs: number;
  /** Orders events that are due at the same time. */
  order: number;
  run: (() => void) | undefined;
  isOver: () => boolean;
}

/** Delays below one millisecond or above this maximum count as one millisecond, as with `setTimeout`. */
const LONGEST_MS = 2 ** 31 - 1;

export class Scheduler {
  /** Milliseconds since the world began. */
  nowMs = 0;
  /** The number of events that ran. */
  step = 0;
  #order = 0;
  readonly #heap: Due[] = [];

  /** Runs once after `delayMs` unless `isOver` is true by then; the returned function cancels it. */
  after(delayMs: number, run: () => void, isOver: () => boolean = never): () => void {
    const ms = delayMs >= 1 && delayMs <= LONGEST_MS ? Math.trunc(delayMs) : 1;
    return this.#push(this.nowMs + ms, run, isOver);
  }

  /** Runs once at the current moment, after the events that are already due. */
  soon(run: () => void, isOver: () => boolean = never): () => void {
    return this.#push(this.nowMs, run, isOver);
  }

  every(periodMs: number, run: () => void, isOver: () => boolean = never): () => void {
    let stop = (): void => {};
    const again = (): void => {
      stop = this.after(
        periodMs,
        () => {
          again();
          run();
        },
        isOver,
      );
    };
    again();
    return () => stop();
  }

  /**
   * Runs events until `endMs`. Calls `looked` after every event and its consequences; if it returns true, the run ends.
   */
  async until(endMs: number, looked: () => boolean): Promise<void> {
    for (;;) {
      const next = this.#heap[0];
      if (next === undefined || next.atMs > endMs) break;
      this.#pop();
      if (next.run === undefined || next.isOver()) continue;
      this.nowMs = next.atMs;
      this.step += 1;
      next.run();
      await new Promise<void>((resolve) => nextTurn(resolve));
      if (looked()) return;
    }
    this.nowMs = endMs;
  }

  #push(atMs: number, run: () => void, isOver: () => boolean): () => void {
    this.#order += 1;
    const due: Due = { atMs, order: this.#order, run, isOver };
    const heap = this.#heap;
    let at = heap.push(due) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(due, heap[parent] as Due)) break;
      heap[at] = heap[parent] as Due;
      at = parent;
    }
    heap[at] = due;
    return () => {
      due.run = undefined;
    };
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop() as Due;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Due, heap[child] as Due)) child += 1;
      if (!isBefore(heap[child] as Due, last)) break;
      heap[at] = heap[child] as Due;
      at = child;
    }
    heap[at] = last;
  }
}

const never = (): boolean => false;

const isBefore = (one: Due, other: Due): boolean =>
  one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);
