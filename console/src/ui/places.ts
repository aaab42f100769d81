/** The largest number of decimals that any amount of a page has needed. */
export interface Places {
  /** An amount needs this many. */
  need: (places: number) => void;
  most: () => number;
  subscribe: (listener: () => void) => () => void;
}

export function newPlaces(): Places {
  const listeners = new Set<() => void>();
  let most = 0;
  return {
    need(places) {
      if (places <= most) return;
      most = places;
      for (const listener of listeners) listener();
    },
    most: () => most,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
