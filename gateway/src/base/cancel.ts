/**
 * What an abort signal tells, for what is made with every request: an `AbortSignal` is an event target, with some thirty functions of
 * Node's on the way of its first listener. Whoever takes a `Gone` takes an `AbortSignal` as well.
 */
export interface CancelSignal {
  readonly aborted: boolean;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** One that is told by whoever made it. Listeners are called once, in the order they came. */
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
