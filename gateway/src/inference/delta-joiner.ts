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
  writer: Pick<StreamWriter, "delta" | "thought">;
  reply: Pick<Reply, "event">;
  clock: Clock;
  /** So many events a second are let through as they come. */
  perSecondMax: number;
}

export class DeltaJoiner {
  readonly #options: JoinerOptions;
  #unsent = "";
  /** What is not sent yet is thinking. */
  #isThought = false;
  #windowAt: number;
  #sent = 0;
  #stopTimer: (() => void) | undefined;
  readonly #send = (): void => this.flush();

  /** The same for thinking; null where none is sent before the end. */
  readonly thought: ((text: string) => void) | null;

  constructor(options: JoinerOptions) {
    this.#options = options;
    this.thought = options.writer.thought && ((text) => this.#add(text, true));
    this.#windowAt = options.clock.monotonic();
  }

  /** Text that is not empty. */
  delta(text: string): void {
    this.#add(text, false);
  }

  #add(text: string, isThought: boolean): void {
    if (isThought !== this.#isThought) this.flush();
    this.#isThought = isThought;
    const isFirst = this.#unsent === "";
    this.#unsent += text;
    if (!isFirst) return;
    if (this.#isFlooded()) this.#stopTimer = this.#options.clock.after(FLOOD_MERGE_MS, this.#send);
    else queueMicrotask(this.#send);
  }

  /** Sends what waits, before anything else is said. */
  flush(): void {
    const { writer, reply } = this.#options;
    if (this.#stopTimer !== undefined) {
      this.#stopTimer();
      this.#stopTimer = undefined;
    }
    if (this.#unsent === "") return;
    const text = this.#unsent;
    this.#unsent = "";
    this.#sent += 1;
    reply.event(this.#isThought && writer.thought !== null ? writer.thought(text) : writer.delta(text));
  }

  /** The clock is asked only once so many were sent, which takes an honest stream many seconds. */
  #isFlooded(): boolean {
    if (this.#sent < this.#options.perSecondMax) return false;
    const now = this.#options.clock.monotonic();
    if (now - this.#windowAt < WINDOW_MS) return true;
    this.#windowAt = now;
    this.#sent = 0;
    return false;
  }
}
