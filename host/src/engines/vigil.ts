/**
 * Watches over one job while its engine is silent. Until the first output the gateway wants to hear that the engine is at
 * work. Some engines say how far they are with the prompt; of the others only this is known: their server answers, and
 * the request is still open. So the gateway is told every second for as long as the server answers. A frozen engine stops
 * answering, nothing more is told, and the gateway sees a stall within seconds; an engine whose server answers while its
 * model hangs is given up after a minute, by the gateway and here.
 */
import type { Clock } from "../clock.ts";
import { EngineError } from "./engine.ts";
import type { Life } from "./engine-http.ts";

const TELL_EVERY_MS = 1_000;
/** A server that has not answered for so long is frozen. */
const LIFE_MS_MAX = 5_000;
/** Nothing said for so long, neither output nor progress: the job is lost. */
const SILENCE_MS_MAX = 60_000;

export interface VigilOptions {
  clock: Clock;
  /** Tells the gateway that the engine is at work. */
  tell: (promptRead: number) => void;
  /** Asks the engine's server for a sign of life. */
  life: () => Promise<Life>;
}

export class Vigil {
  readonly #options: VigilOptions;
  readonly #lost = new AbortController();
  readonly #stop: () => void;
  #promptRead = 0;
  #speaks = false;
  #lifeAt: number;
  #saidAt: number;

  constructor(options: VigilOptions) {
    this.#options = options;
    this.#lifeAt = options.clock.monotonic();
    this.#saidAt = this.#lifeAt;
    this.#stop = options.clock.every(TELL_EVERY_MS, () => this.#look());
  }

  /** Aborts when the engine has been silent for too long, with the error to report. */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** The engine said how much of the prompt it has read. */
  read(fraction: number): void {
    this.#saidAt = this.#options.clock.monotonic();
    this.#lifeAt = this.#saidAt;
    this.#promptRead = fraction;
    if (!this.#speaks) this.#options.tell(fraction);
  }

  /** The engine gave output. */
  spoke(): void {
    this.#speaks = true;
    this.#saidAt = this.#options.clock.monotonic();
  }

  end(): void {
    this.#stop();
  }

  #look(): void {
    const now = this.#options.clock.monotonic();
    if (now - this.#saidAt >= SILENCE_MS_MAX) {
      this.#lost.abort(new EngineError("engine", `the engine said nothing for ${SILENCE_MS_MAX / 1000} seconds`));
      return;
    }
    if (this.#speaks) return;
    if (now - this.#lifeAt <= LIFE_MS_MAX) this.#options.tell(this.#promptRead);
    void this.#options.life().then((life) => {
      if (life === "answers") this.#lifeAt = this.#options.clock.monotonic();
    });
  }
}
