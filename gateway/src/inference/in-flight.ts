/**
 * The requests in flight, and their cancellation at shutdown. Each has a signal that fires when its client disconnects
 * or when the stopping gateway waits no longer, and records which came first. The gateway exits when no request is
 * left.
 */
import { type CancelSignal, CancelSource } from "../base/cancel-signal.ts";
import { type SetEntry, ShortLivedSet } from "../base/short-lived-collections.ts";
import { fault } from "../faults.ts";

/** One request in flight: its cancel signal, and `leave`, which is called when it ends. */
export interface InFlightEntry {
  /** Fires when the client has disconnected, or the gateway stops. */
  readonly signal: CancelSignal;
  /** Whether the gateway stopped before the client disconnected. */
  readonly isStopped: boolean;
  /** Waits for a step that costs nothing yet, such as reading a slow body. Rejects with 503 when the gateway stops. */
  unlessStopped<T>(step: Promise<T>): Promise<T>;
  leave(): void;
}

export class InFlightRequests {
  readonly #places = new ShortLivedSet<Entry>();
  #isStopped = false;
  #whenNone: (() => void)[] = [];

  get count(): number {
    return this.#places.size;
  }

  enter(cancelSignal: CancelSignal): InFlightEntry {
    const place = new Entry(cancelSignal, this.#left);
    place.seat = this.#places.add(place);
    if (this.#isStopped) place.stop();
    return place;
  }

  /** Cancels all requests in flight, and all that begin later. */
  stop(): void {
    this.#isStopped = true;
    for (const place of this.#places.all()) place.stop();
  }

  readonly #left = ({ seat }: Entry): void => {
    if (seat !== undefined) this.#places.delete(seat);
    if (this.#places.size > 0) return;
    for (const resolve of this.#whenNone.splice(0)) resolve();
  };

  /** Resolves when no request is in flight. */
  none(): Promise<void> {
    return this.#places.size === 0 ? Promise.resolve() : new Promise((resolve) => this.#whenNone.push(resolve));
  }
}

/**
 * A request's own signal. `AbortSignal.any` is not used, because it would accumulate entries on a signal that lives as
 * long as the process. It is a class, because V8 keeps what an object literal's getter refers to alive until the next
 * full garbage collection.
 */
class Entry implements InFlightEntry {
  readonly #cancelSignal: CancelSignal;
  readonly signal = new CancelSource();
  readonly #onGone = (): void => this.signal.abort();
  readonly #left: (place: Entry) => void;
  /** Rejects the pending step. */
  #giveUp: ((reason: unknown) => void) | undefined;
  isStopped = false;
  /** This request's entry in the set of all requests. */
  seat: SetEntry<Entry> | undefined;

  constructor(cancelSignal: CancelSignal, left: (place: Entry) => void) {
    this.#cancelSignal = cancelSignal;
    this.#left = left;
    if (cancelSignal.aborted) this.#onGone();
    else cancelSignal.addEventListener("abort", this.#onGone);
  }

  stop(): void {
    if (this.signal.aborted) return;
    this.isStopped = true;
    this.#giveUp?.(fault("no_capacity"));
    this.signal.abort();
  }

  unlessStopped<T>(step: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#giveUp = reject;
      if (this.isStopped) reject(fault("no_capacity"));
      step.then(resolve, reject);
    });
  }

  leave(): void {
    this.#cancelSignal.removeEventListener("abort", this.#onGone);
    this.#left(this);
  }
}
