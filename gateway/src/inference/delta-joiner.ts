/**
 * Joins the deltas (pieces of text) of a stream: those of one event-loop turn become one event. If a node sends more
 * deltas per second than the model can generate tokens, events are limited to one every few milliseconds, so that the
 * node's flood does not slow other requests. A single delta is sent at the end of its turn, and never waits for
 * another.
 */
import type { Clock } from "../base/clock.ts";
import type { Reply } from "./call-interface.ts";
import type { StreamWriter } from "./endpoint.ts";

const FLOOD_MERGE_MS = 5;
const WINDOW_MS = 1_000;

interface JoinerOptions {
  writer: Pick<StreamWriter, "delta" | "thought">;
  reply: Pick<Reply, "event">;
  clock: Clock;
  /** The number of events per second up to which events are sent without delay. */
  perSecondMax: number;
}

export class DeltaJoiner {
  readonly #options: JoinerOptions;
  #unsent = "";
  /** Whether the unsent text is thinking. */
  #isThought = false;
  #windowAt: number;
  #sent = 0;
  #stopTimer: (() => void) | undefined;
  readonly #send = (): void => this.flush();

  /** Adds thinking; null if thinking is only sent at the end of the stream. */
  readonly thought: ((text: string) => void) | null;

  constructor(options: JoinerOptions) {
    this.#options = options;
    this.thought = options.writer.thought && ((text) => this.#add(text, true));
    this.#windowAt = options.clock.monotonic();
  }

  /** Adds text of the answer, which must not be empty. */
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

  /** Sends the waiting text now, because another event follows. */
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

  /**
   * Whether the node exceeds the rate. Reads the clock only once this many events were sent, which takes an honest
   * stream many seconds.
   */
  #isFlooded(): boolean {
    if (this.#sent < this.#options.perSecondMax) return false;
    const now = this.#options.clock.monotonic();
    if (now - this.#windowAt < WINDOW_MS) return true;
    this.#windowAt = now;
    this.#sent = 0;
    return false;
  }
}
