/**
 * The requests under way, and their end when the gateway stops: each has a signal that fires when its client has left or the gateway
 * can wait no longer, and tells which of the two came first. A gateway leaves when the last of them has.
 */
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

interface Place extends Stay {
  stop(): void;
}

export class UnderWay {
  readonly #places = new Set<Place>();
  #isStopped = false;
  #whenNone: (() => void)[] = [];

  get count(): number {
    return this.#places.size;
  }

  enter(gone: AbortSignal): Stay {
    const place = openPlace(gone, () => {
      this.#places.delete(place);
      if (this.#places.size > 0) return;
      for (const resolve of this.#whenNone.splice(0)) resolve();
    });
    this.#places.add(place);
    if (this.#isStopped) place.stop();
    return place;
  }

  /** Ends every request that is under way, and every one that is yet to come. */
  stop(): void {
    this.#isStopped = true;
    for (const place of this.#places) place.stop();
  }

  /** Resolves when none is left. */
  none(): Promise<void> {
    return this.#places.size === 0 ? Promise.resolve() : new Promise((resolve) => this.#whenNone.push(resolve));
  }
}

/** A controller for each, and not `AbortSignal.any`: a signal that lives as long as the process would gather what it was joined to. */
function openPlace(gone: AbortSignal, left: () => void): Place {
  const ended = new AbortController();
  /** Of whoever waits for it. */
  let stopped: PromiseWithResolvers<never> | undefined;
  let isStopped = false;
  const onGone = (): void => ended.abort();
  if (gone.aborted) onGone();
  else gone.addEventListener("abort", onGone);
  return {
    signal: ended.signal,
    get isStopped() {
      return isStopped;
    },
    stop() {
      if (ended.signal.aborted) return;
      isStopped = true;
      stopped?.reject(fault("no_capacity"));
      ended.abort();
    },
    unlessStopped(step) {
      stopped ??= Promise.withResolvers();
      if (isStopped) stopped.reject(fault("no_capacity"));
      return Promise.race([step, stopped.promise]);
    },
    leave() {
      gone.removeEventListener("abort", onGone);
      left();
    },
  };
}
