/**
 * Joins the deltas of one stream: what comes in one turn of the event loop becomes one event. A node that sends more pieces a second
 * than the model can make tokens is held to one event every few milliseconds, so that its pieces cost others nothing. A single delta
 * goes out at the end of its turn and never waits for another.
 */
import type { Clock } from "../base/clock.ts";
import type { Reply } from "./call.ts";
import type { StreamWriter } from "./endpoint.ts";

const FLOOD_MERGE_MS = 5;
const WINDOW_MS = 1_000;

interface JoinerOptions {
  writer: Pick<StreamWriter, "delta">;
  reply: Pick<Reply, "event">;
  clock: Clock;
  /** So many events a second are let through as they come. */
  perSecondMax: number;
}

export class DeltaJoiner {
  readonly #options: JoinerOptions;
  #unsent = "";
  #windowAt = Number.NEGATIVE_INFINITY;
  #sent = 0;
  #stopTimer: (() => void) | undefined;

  constructor(options: JoinerOptions) {
    this.#options = options;
  }

  /** Text that is not empty. */
  delta(text: string): void {
    const isFirst = this.#unsent === "";
    this.#unsent += text;
    if (!isFirst) return;
    if (this.#isFlooded()) this.#stopTimer = this.#options.clock.after(FLOOD_MERGE_MS, () => this.flush());
    else queueMicrotask(() => this.flush());
  }

  /** Sends what waits, before anything else is said. */
  flush(): void {
    const { writer, reply } = this.#options;
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    if (this.#unsent === "") return;
    const text = this.#unsent;
    this.#unsent = "";
    this.#sent += 1;
    reply.event(writer.delta(text));
  }

  #isFlooded(): boolean {
    const now = this.#options.clock.monotonic();
    if (now - this.#windowAt >= WINDOW_MS) {
      this.#windowAt = now;
      this.#sent = 0;
    }
    return this.#sent >= this.#options.perSecondMax;
  }
}
