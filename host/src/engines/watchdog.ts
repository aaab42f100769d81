/**
 * Watches over one job while its engine is silent. Until the first output the gateway wants to hear that the engine is at
 * work. Some engines say how far they are with the prompt; of the others only this is known: their server answers, and
 * the request is still open. So the gateway gets progress every second for as long as the server answers. A frozen engine stops
 * answering, progress ends, and the gateway sees a stall within seconds; an engine whose server answers while its
 * model hangs is given up after a minute, by the gateway and here.
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
  /** Tells the gateway that the engine is at work. */
  tell: (promptRead: number) => void;
  /** Asks the engine's server for a sign of life. */
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

  /** The engine said how much of the prompt it has read. */
  read(fraction: number): void {
    this.#heardAt = this.#options.clock.monotonic();
    this.#aliveAt = this.#heardAt;
    this.#promptRead = fraction;
    if (!this.#hasOutput) this.#options.tell(fraction);
  }

  /** The engine gave output. */
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
