/** Collects tasks until the end of the event loop's turn, so that their messages reach the plane in one write. */
import type { Clock } from "../clock.ts";

export class EventLoopTurnQueue {
  readonly #clock: Clock;
  #tasks: (() => void)[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(task: () => void): void {
    if (this.#tasks.push(task) > 1) return;
    this.#clock.soon(() => {
      const tasks = this.#tasks;
      this.#tasks = [];
      for (const each of tasks) each();
    });
  }
}
