/**
 * Watches a job while its engine is silent, and sends progress to the gateway until the first output. Some engines report how far they have
 * read the prompt; for others it is only known that the server answers and the request is open, so progress is sent every second while the
 * server answers. A frozen engine stops answering, so the gateway sees a stall within seconds. If the server answers while its model hangs,
 * the job fails after a minute, both at the gateway and here.
 */
import type { Clock } from "../clock.ts";
import { EngineError } from "./engine.ts";
import type { Liveness } from "./engine-http.ts";

const TELL_EVERY_MS = 1_000;
/** A server without an answer for this long counts as frozen. */
const ALIVE_MS_MAX = 5_000;
/** Without output or progress for this long the job fails. */
const SILENCE_MS_MAX = 60_000;

interface WatchdogOptions {
  clock: Clock;
  /** Sends progress to the gateway. */
  tell: (promptRead: number) => void;
  /** Checks whether the engine's server answers. */
  probe: () => Promise<Liveness>;
}

export class Watchdog {
  readonly #options: WatchdogOptions;
  readonly #lost = new AbortController();
  readonly #stop: () => void;
  #promptRead = 0;
  #hasOutput = false;
  #aliveAt: number;
  #heardAt: number;

  constructor(options: WatchdogOptions) {
    this.#options = options;
    this.#aliveAt = options.clock.monotonic();
    this.#heardAt = this.#aliveAt;
    this.#stop = options.clock.every(TELL_EVERY_MS, () => this.#check());
  }

  /** Aborts when the engine has been silent for too long, with the error to report. */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** The engine reported how much of the prompt it has read. */
  read(fraction: number): void {
    this.#heardAt = this.#options.clock.monotonic();
    this.#aliveAt = this.#heardAt;
    this.#promptRead = fraction;
    if (!this.#hasOutput) this.#options.tell(fraction);
  }

  /** The engine wrote output. */
  output(): void {
    this.#hasOutput = true;
    this.#heardAt = this.#options.clock.monotonic();
  }

  end(): void {
    this.#stop();
  }

  #check(): void {
    const now = this.#options.clock.monotonic();
    if (now - this.#heardAt >= SILENCE_MS_MAX) {
      this.#lost.abort(new EngineError("engine", `the engine sent nothing for ${SILENCE_MS_MAX / 1000} seconds`));
      return;
    }
    if (this.#hasOutput) return;
    if (now - this.#aliveAt <= ALIVE_MS_MAX) this.#options.tell(this.#promptRead);
    void this.#options.probe().then((liveness) => {
      if (liveness === "answers") this.#aliveAt = this.#options.clock.monotonic();
    });
  }
}
