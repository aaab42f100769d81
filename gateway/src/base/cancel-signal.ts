/**
 * A minimal AbortSignal for every request. The first listener of a real one, which is an EventTarget, costs about
 * thirty function calls. A real AbortSignal can be passed wherever a `CancelSignal` is expected.
 */
export interface CancelSignal {
  readonly aborted: boolean;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** Creates a cancel signal and triggers it. Listeners are called once, in the order in which they were added. */
export class CancelSource implements CancelSignal {
  aborted = false;
  #listeners: (() => void)[] = [];

  addEventListener(_type: "abort", listener: () => void): void {
    this.#listeners.push(listener);
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    const at = this.#listeners.indexOf(listener);
    if (at >= 0) this.#listeners.splice(at, 1);
  }

  abort(): void {
    if (this.aborted) return;
    this.aborted = true;
    for (const listener of this.#listeners.splice(0)) listener();
  }
}
