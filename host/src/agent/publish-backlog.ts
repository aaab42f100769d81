/**
 * Counts the published bytes that the broker has not read yet. Without a limit, a broker that stops reading would fill
 * this process's memory.
 */

/** The agent asks the broker for a confirmation only after this many bytes, so light traffic costs nothing. */
const ASK_AFTER_BYTES = 256 * 1024;
export const BACKLOG_BYTES_MAX = 16 * 1024 * 1024;

export class PublishBacklog {
  readonly #flush: () => Promise<void>;
  readonly #tooMuch: () => void;
  #bytes = 0;
  #asking = false;

  /**
   * `flush` resolves when the broker has read everything published so far. `tooMuch` runs when the limit is exceeded.
   */
  constructor(flush: () => Promise<void>, tooMuch: () => void) {
    this.#flush = flush;
    this.#tooMuch = tooMuch;
  }

  published(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > BACKLOG_BYTES_MAX) this.#tooMuch();
    else if (this.#bytes > ASK_AFTER_BYTES && !this.#asking) this.#ask();
  }

  #ask(): void {
    this.#asking = true;
    const before = this.#bytes;
    this.#flush().then(
      () => {
        this.#bytes -= before;
        this.#asking = false;
      },
      () => {
        // The connection broke, and nothing more is published on it. Its `closed` promise reports the error.
      },
    );
  }
}
