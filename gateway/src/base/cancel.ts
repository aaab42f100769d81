/**
 * A minimal AbortSignal for every request: the first listener of a real one, an EventTarget, costs about thirty function calls. An
 * AbortSignal can be passed wherever a `CancelSignal` is expected.
 */
export interface CancelSignal {
  readonly aborted: boolean;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** The source of a cancel signal. Listeners are called once, in the order they were added. */
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
