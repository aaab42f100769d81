/**
 * Lets what an engine says to many jobs in one step be read together. Each word comes on a connection of its own, a few
 * microseconds after the last: an event loop that wakes up for every one of them costs more than reading them. So where many
 * answers are read and a turn of the loop brought few of them, the thread rests for a moment before it looks again. No word
 * waits longer than that, and none where few answers are read.
 */
import type { Clock } from "../../clock.ts";

/** With fewer answers at once, to wake up for each costs little in all. */
const ANSWERS_MIN = 8;
/** A turn that brought this share of the answers found most of a step already. */
const FULL_SHARE = 0.5;
export const REST_MS = 1;

/** Whether to rest after a turn of the loop that read `reads` times, while `answers` were open. */
export const gathers = ({ answers, reads }: { answers: number; reads: number }): boolean =>
  answers >= ANSWERS_MIN && reads < answers * FULL_SHARE;

export class ReadGather {
  readonly #clock: Pick<Clock, "soon">;
  readonly #rest: (ms: number) => void;
  #answers = 0;
  #reads = 0;
  readonly #endTurn = (): void => {
    const reads = this.#reads;
    this.#reads = 0;
    if (gathers({ answers: this.#answers, reads })) this.#rest(REST_MS);
  };

  constructor(clock: Pick<Clock, "soon">, rest: (ms: number) => void) {
    this.#clock = clock;
    this.#rest = rest;
  }

  /** An answer is awaited or read; the returned function ends it. */
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
/** The thread does nothing at all meanwhile. */
export function restThread(ms: number): void {
  Atomics.wait(never, 0, 0, ms);
}
