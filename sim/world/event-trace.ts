/** The trace of a simulated world: as a hash, to compare two runs of a seed, and as lines for readers. */
import { createHash } from "node:crypto";
import type { Scheduler } from "./scheduler.ts";

/** How many of the last lines are kept for a failure report, unless the run keeps all lines. */
const LAST_LINES = 4_000;

export class EventTrace {
  readonly #scheduler: Scheduler;
  readonly #hash = createHash("sha256");
  readonly #keepsAll: boolean;
  lines: string[] = [];

  constructor(scheduler: Scheduler, { keepsAll }: { keepsAll: boolean }) {
    this.#scheduler = scheduler;
    this.#keepsAll = keepsAll;
  }

  add(who: string, what: string): void {
    const line = `${(this.#scheduler.nowMs / 1000).toFixed(3)} #${this.#scheduler.step} ${who}: ${what}`;
    this.#hash.update(line);
    this.lines.push(line);
    if (!this.#keepsAll && this.lines.length > 2 * LAST_LINES) this.lines = this.lines.slice(-LAST_LINES);
  }

  digest(): string {
    return this.#hash.copy().digest("hex");
  }
}
