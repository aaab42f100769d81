/** Tracks the largest number of decimals that any amount on a page needs. */
export interface DecimalPlacesTracker {
  /** Registers that an amount needs this many decimals. */
  need: (places: number) => void;
  most: () => number;
  subscribe: (listener: () => void) => () => void;
}

export function createDecimalPlacesTracker(): DecimalPlacesTracker {
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
