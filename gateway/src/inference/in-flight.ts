/**
 * The requests in flight, and their end when the gateway stops: each has a signal that fires when its client has left or the gateway
 * can wait no longer, and tells which of the two came first. A gateway leaves when the last of them has.
 */
import { type CancelSignal, CancelSource } from "../base/cancel.ts";
import { PassingSet, type Seat } from "../base/passing.ts";
import { fault } from "../faults.ts";

/** One request's place among them. */
export interface InFlightEntry {
  /** Fires when the client has left or the gateway stops. */
  readonly signal: CancelSignal;
  /** The gateway stopped while the client was still there. */
  readonly isStopped: boolean;
  /** For what has cost nothing yet, a body that comes slowly above all: given up with 503 when the gateway stops. */
  unlessStopped<T>(step: Promise<T>): Promise<T>;
  leave(): void;
}

export class InFlight {
  readonly #places = new PassingSet<Entry>();
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

  /** Ends every request that is in flight, and every one that is yet to come. */
  stop(): void {
    this.#isStopped = true;
    for (const place of this.#places.all()) place.stop();
  }

  readonly #left = ({ seat }: Entry): void => {
    if (seat !== undefined) this.#places.delete(seat);
    if (this.#places.size > 0) return;
    for (const resolve of this.#whenNone.splice(0)) resolve();
  };

  /** Resolves when none is left. */
  none(): Promise<void> {
    return this.#places.size === 0 ? Promise.resolve() : new Promise((resolve) => this.#whenNone.push(resolve));
  }
}

/**
 * A signal for each, and not `AbortSignal.any`: one that lives as long as the process would gather what it was joined to.
 * A class, and not an object with a getter of its own: V8 makes such an object a shape of its own, which keeps what its getter sees
 * until the next full collection.
 */
class Entry implements InFlightEntry {
  readonly #cancelSignal: CancelSignal;
  readonly signal = new CancelSource();
  readonly #onGone = (): void => this.signal.abort();
  readonly #left: (place: Entry) => void;
  /** Rejects what is waited for. */
  #giveUp: ((reason: unknown) => void) | undefined;
  isStopped = false;
  /** Among all of them. */
  seat: Seat<Entry> | undefined;

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
