/** What is done when the event loop has done what is at hand, all of it at once: so it leaves for the plane in one write. */
import type { Clock } from "../clock.ts";

export class TurnEnd {
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
