/**
 * Watches a job while its engine sends nothing, and reports progress to the gateway until the first output. Some
 * engines report how much of the prompt they have read. For others, progress is reported every second while the server
 * answers health requests. A frozen engine stops answering, so the gateway detects a stall within seconds. If the
 * server answers but its model hangs, the gateway and this watchdog end the job after a minute.
 */
import type { Clock } from "../clock.ts";
import { EngineError } from "./engine.ts";
import type { ServerLiveness } from "./engine-http.ts";

const TELL_EVERY_MS = 1_000;
/** A server that has not answered for this long counts as frozen. */
const ALIVE_MS_MAX = 5_000;
/** A job without output or progress for this long fails. */
const SILENCE_MS_MAX = 60_000;

interface WatchdogOptions {
  clock: Clock;
  /** Reports progress to the gateway. */
  tell: (promptRead: number) => void;
  /** Checks whether the engine's server answers. */
  probe: () => Promise<ServerLiveness>;
}

export class JobWatchdog {
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

  /** Aborts when the engine has sent nothing for too long. The reason is the error to report. */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** Called when the engine has reported how much of the prompt it has read. */
  read(fraction: number): void {
    this.#heardAt = this.#options.clock.monotonic();
    this.#aliveAt = this.#heardAt;
    this.#promptRead = fraction;
    if (!this.#hasOutput) this.#options.tell(fraction);
  }

  /** Called when the engine has written output. */
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
