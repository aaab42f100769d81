/** Chance that can be had again: the same seed makes the same run, as far as a run depends on it. */

export interface Chance {
  /** From 0 to below 1. */
  next(): number;
  /** A whole number, both ends included. */
  between(least: number, most: number): number;
  pick<T>(list: readonly T[]): T;
  shuffled<T>(list: readonly T[]): T[];
}

/** Mulberry32: 32 bits of state are plenty for the order of a list. */
export function chanceOf(seed: number): Chance {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (least: number, most: number): number => least + Math.floor(next() * (most - least + 1));
  return {
    next,
    between,
    pick: <T>(list: readonly T[]): T => list[between(0, list.length - 1)] as T,
    shuffled<T>(list: readonly T[]): T[] {
      const cards = [...list];
      for (let i = cards.length - 1; i > 0; i--) {
        const j = between(0, i);
        [cards[i], cards[j]] = [cards[j] as T, cards[i] as T];
      }
      return cards;
    },
  };
}
