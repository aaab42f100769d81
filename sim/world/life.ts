/**
 * The life of a simulated process. All its effects on the world use handles (clock, plane, store, disk) that check here first. After its
 * end they do nothing: awaited answers never come and timers never fire, so its code stops. A fuse ends it after a number of uses of a
 * handle, which is between any two effects of its code.
 */
import type { Clock } from "../../gateway/src/base/clock.ts";
import type { Scheduler } from "./scheduler.ts";

/** The first moment of every simulated world: 1 June 2030, a few minutes before midnight, so that a day ends in it. */
export const EPOCH_MS = Date.UTC(2030, 4, 31, 23, 50);

export class Life {
  /** The number of the machine that it runs on. */
  readonly machine: number;
  #isAlive = true;
  #fuse = Number.POSITIVE_INFINITY;
  readonly #ends: (() => void)[] = [];

  constructor({ machine = 0 } = {}) {
    this.machine = machine;
  }

  /** To be asked before anything is done. */
  mayAct(): boolean {
    if (this.#isAlive) {
      this.#fuse -= 1;
      if (this.#fuse < 0) this.end();
    }
    return this.#isAlive;
  }

  /** The same without using the fuse: of what comes to it from outside. */
  get hears(): boolean {
    return this.#isAlive;
  }

  burn(uses: number): void {
    this.#fuse = uses;
  }

  onEnd(run: () => void): void {
    this.#ends.push(run);
  }

  end(): void {
    if (!this.#isAlive) return;
    this.#isAlive = false;
    for (const run of this.#ends) run();
  }

  /** Of something that is done by this process or not at all. */
  never<T>(): Promise<T> {
    return new Promise<T>(() => {});
  }
}

/** The clock of a process: its wall time may be wrong, and its monotonic time begins anywhere. */
export function processClock(
  life: Life,
  scheduler: Scheduler,
  { skewMs = 0, originMs = 0 }: { skewMs?: number; originMs?: number } = {},
): Clock {
  // A process that ended has no timers: they are not even looked at.
  const isOver = (): boolean => !life.hears;
  const idle = (): void => {};
  return {
    now: () => EPOCH_MS + scheduler.nowMs + skewMs,
    monotonic: () => scheduler.nowMs + originMs,
    after: (delayMs, task) => (life.mayAct() ? scheduler.after(delayMs, task, isOver) : idle),
    every: (periodMs, task) => (life.mayAct() ? scheduler.every(periodMs, task, isOver) : idle),
    soon: (task) => void (life.mayAct() && scheduler.soon(task, isOver)),
  };
}
