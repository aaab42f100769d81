/**
 * Combines the reads of many concurrent answers. An engine step writes a token to each connection within microseconds,
 * and waking the event loop for each one costs more than reading it. If many answers are open and a turn of the loop
 * reads few of them, the thread therefore sleeps for 1 ms before the next turn. With few answers it never sleeps.
 */
import type { Clock } from "../../clock.ts";

/** With fewer open answers, waking up for each one costs little. */
const ANSWERS_MIN = 8;
/**
 * If a turn read at least this share of the open answers, most of an engine step has already arrived, so the thread
 * does not sleep.
 */
const FULL_SHARE = 0.5;
export const READ_PAUSE_MS = 1;

/** Returns whether to sleep after a turn of the loop that read `reads` of `answers` open answers. */
export const shouldPauseReading = ({ answers, reads }: { answers: number; reads: number }): boolean =>
  answers >= ANSWERS_MIN && reads < answers * FULL_SHARE;

export class ReadBatcher {
  readonly #clock: Pick<Clock, "soon">;
  readonly #rest: (ms: number) => void;
  #answers = 0;
  #reads = 0;
  readonly #endTurn = (): void => {
    const reads = this.#reads;
    this.#reads = 0;
    if (shouldPauseReading({ answers: this.#answers, reads })) this.#rest(READ_PAUSE_MS);
  };

  constructor(clock: Pick<Clock, "soon">, rest: (ms: number) => void) {
    this.#clock = clock;
    this.#rest = rest;
  }

  /** Counts an answer as open until the returned function is called. */
  begin(): () => void {
    this.#answers++;
    return () => {
      this.#answers--;
    };
  }

  read(): void {
    if (this.#answers < ANSWERS_MIN) return;
    if (this.#reads++ === 0) this.#clock.soon(this.#endTurn);
  }
}

const never = new Int32Array(new SharedArrayBuffer(4));
/** Blocks the whole thread, including the event loop. */
export function blockThread(ms: number): void {
  Atomics.wait(never, 0, 0, ms);
}
