/**
 * The life of a simulated process. All its effects on the world go through handles (clock, plane, database, disk) that
 * check here first. After the process ended they do nothing: awaited answers never come and timers never fire, so its
 * code stops.
 *
 * A fuse ends the process after a number of uses of handles, so it can die between any two effects of its code.
 */
import type { Clock } from "../../gateway/src/base/clock.ts";
import type { Scheduler } from "./scheduler.ts";

/**
 * The first moment of every simulated world: a few minutes before midnight on 31 May 2030, so that a day and a month
 * end in it.
 */
export const WORLD_START_MS = Date.UTC(2030, 4, 31, 23, 50);

export class ProcessLifetime {
  /** The number of the machine that the process runs on. */
  readonly machine: number;
  #isAlive = true;
  #fuse = Number.POSITIVE_INFINITY;
  readonly #ends: (() => void)[] = [];

  constructor({ machine = 0 } = {}) {
    this.machine = machine;
  }

  /**
   * Returns whether the process lives. Also counts down the fuse, which ends the process after a number of effects.
   * Must be called before every effect on the world.
   */
  mayAct(): boolean {
    if (this.#isAlive) {
      this.#fuse -= 1;
      if (this.#fuse < 0) this.end();
    }
    return this.#isAlive;
  }

  /**
   * Whether the process lives. Unlike `mayAct`, reading this does not count as a use of the fuse. For events that reach
   * the process from outside.
   */
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

  /** Returns a promise that never settles: the answer to an operation of a process that ended. */
  never<T>(): Promise<T> {
    return new Promise<T>(() => {});
  }
}

/** Returns the clock of a process: its wall time may be wrong, and its monotonic time starts at any value. */
export function createProcessClock(
  life: ProcessLifetime,
  scheduler: Scheduler,
  { skewMs = 0, originMs = 0 }: { skewMs?: number; originMs?: number } = {},
): Clock {
  // Timers of a process that ended count as cancelled, so the scheduler skips them.
  const isOver = (): boolean => !life.hears;
  const idle = (): void => {};
  return {
    now: () => WORLD_START_MS + scheduler.nowMs + skewMs,
    monotonic: () => scheduler.nowMs + originMs,
    after: (delayMs, task) => (life.mayAct() ? scheduler.after(delayMs, task, isOver) : idle),
    every: (periodMs, task) => (life.mayAct() ? scheduler.every(periodMs, task, isOver) : idle),
    soon: (task) => void (life.mayAct() && scheduler.soon(task, isOver)),
  };
}
