/**
 * Combines reads of many concurrent answers. An engine step writes a token to each connection within microseconds, and waking the event
 * loop for each costs more than reading it. So if many answers are open and a turn of the loop read few of them, the thread sleeps for a
 * moment before the next turn. No token waits longer than that, and with few answers none does.
 */
import type { Clock } from "../../clock.ts";

/** With fewer answers, waking up for each costs little. */
const ANSWERS_MIN = 8;
/** A turn that read this share of the answers found most of a step already. */
const FULL_SHARE = 0.5;
export const REST_MS = 1;

/** Whether to sleep after a turn of the loop with `reads` reads, while `answers` were open. */
export const shouldPause = ({ answers, reads }: { answers: number; reads: number }): boolean =>
  answers >= ANSWERS_MIN && reads < answers * FULL_SHARE;

export class ReadGather {
  readonly #clock: Pick<Clock, "soon">;
  readonly #rest: (ms: number) => void;
  #answers = 0;
  #reads = 0;
  readonly #endTurn = (): void => {
    const reads = this.#reads;
    this.#reads = 0;
    if (shouldPause({ answers: this.#answers, reads })) this.#rest(REST_MS);
  };

  constructor(clock: Pick<Clock, "soon">, rest: (ms: number) => void) {
    this.#clock = clock;
    this.#rest = rest;
  }

  /** An answer is open until the returned function is called. */
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
/** Blocks the whole thread. */
export function sleepThread(ms: number): void {
  Atomics.wait(never, 0, 0, ms);
}
