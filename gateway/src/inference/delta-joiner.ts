/**
 * Joins the deltas of one stream: those of one turn of the event loop become one event. If a node sends more deltas per second than the
 * model can generate tokens, events are limited to one every few milliseconds, so that it costs others nothing. A single delta is sent at
 * the end of its turn and never waits for another.
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
  /** Up to this many events per second are sent without delay. */
  perSecondMax: number;
}

export class DeltaJoiner {
  readonly #options: JoinerOptions;
  #unsent = "";
  /** The unsent text is thinking. */
  #isThought = false;
  #windowAt: number;
  #sent = 0;
  #stopTimer: (() => void) | undefined;
  readonly #send = (): void => this.flush();

  /** The same for thinking; null when it is sent only at the end. */
  readonly thought: ((text: string) => void) | null;

  constructor(options: JoinerOptions) {
    this.#options = options;
    this.thought = options.writer.thought && ((text) => this.#add(text, true));
    this.#windowAt = options.clock.monotonic();
  }

  /** The text must not be empty. */
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

  /** Sends waiting text before other events. */
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

  /** Reads the clock only after this many events, which an honest stream reaches after many seconds. */
  #isFlooded(): boolean {
    if (this.#sent < this.#options.perSecondMax) return false;
    const now = this.#options.clock.monotonic();
    if (now - this.#windowAt < WINDOW_MS) return true;
    this.#windowAt = now;
    this.#sent = 0;
    return false;
  }
}
