/**
 * The requests under way, and their end when the gateway stops: each has a signal that fires when its client has left or the gateway
 * can wait no longer, and tells which of the two came first. A gateway leaves when the last of them has.
 */
import { PassingSet, type Seat } from "../base/passing.ts";
import { fault } from "../faults.ts";

/** One request's place among them. */
export interface Stay {
  /** Fires when the client has left or the gateway stops. */
  readonly signal: AbortSignal;
  /** The gateway stopped while the client was still there. */
  readonly isStopped: boolean;
  /** For what has cost nothing yet, a body that comes slowly above all: given up with 503 when the gateway stops. */
  unlessStopped<T>(step: Promise<T>): Promise<T>;
  leave(): void;
}

export class UnderWay {
  readonly #places = new PassingSet<Place>();
  #isStopped = false;
  #whenNone: (() => void)[] = [];

  get count(): number {
    return this.#places.size;
  }

  enter(gone: AbortSignal): Stay {
    const place = new Place(gone, this.#left);
    place.seat = this.#places.add(place);
    if (this.#isStopped) place.stop();
    return place;
  }

  /** Ends every request that is under way, and every one that is yet to come. */
  stop(): void {
    this.#isStopped = true;
    for (const place of this.#places.all()) place.stop();
  }

  readonly #left = ({ seat }: Place): void => {
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
 * A controller for each, and not `AbortSignal.any`: a signal that lives as long as the process would gather what it was joined to.
 * A class, and not an object with a getter of its own: V8 makes such an object a shape of its own, which keeps what its getter sees
 * until the next full collection.
 */
class Place implements Stay {
  readonly #gone: AbortSignal;
  readonly #ended = new AbortController();
  readonly #onGone = (): void => this.#ended.abort();
  readonly #left: (place: Place) => void;
  /** Of whoever waits for it. */
  #stopped: PromiseWithResolvers<never> | undefined;
  isStopped = false;
  /** Among all of them. */
  seat: Seat<Place> | undefined;

  constructor(gone: AbortSignal, left: (place: Place) => void) {
    this.#gone = gone;
    this.#left = left;
    if (gone.aborted) this.#onGone();
    else gone.addEventListener("abort", this.#onGone);
  }

  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  stop(): void {
    if (this.signal.aborted) return;
    this.isStopped = true;
    this.#stopped?.reject(fault("no_capacity"));
    this.#ended.abort();
  }

  unlessStopped<T>(step: Promise<T>): Promise<T> {
    this.#stopped ??= Promise.withResolvers();
    if (this.isStopped) this.#stopped.reject(fault("no_capacity"));
    return Promise.race([step, this.#stopped.promise]);
  }

  leave(): void {
    this.#gone.removeEventListener("abort", this.#onGone);
    this.#left(this);
  }
}
