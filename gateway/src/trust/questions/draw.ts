/** Choices by chance, over the randomness that is passed in. */
import type { Random } from "../../base/random.ts";

export interface Draw {
  /** A whole number between the two, both included. */
  between(least: number, most: number): number;
  /** True in so many of a hundred. */
  percent(chance: number): boolean;
  pick<T>(of: readonly T[]): T;
  /** So many different ones, in an order by chance. */
  some<T>(count: number, of: readonly T[]): T[];
  /** Normal with mean 0 and deviation 1. */
  normal(): number;
  /** A waiting time with this mean, as between requests that know nothing of each other. */
  wait(meanMs: number): number;
}

const STEPS = 2 ** 30;

export function drawing(random: Random): Draw {
  /** More than 0, at most 1. */
  const part = (): number => (random.below(STEPS) + 1) / STEPS;
  const pick = <T>(of: readonly T[]): T => of[random.below(of.length)] as T;
  return {
    between: (least, most) => least + random.below(most - least + 1),
    percent: (chance) => random.below(100) < chance,
    pick,
    some(count, of) {
      const left = [...of];
      return Array.from(
        { length: Math.min(count, of.length) },
        () => left.splice(random.below(left.length), 1)[0],
      ) as typeof left;
    },
    normal: () => Math.sqrt(-2 * Math.log(part())) * Math.cos(2 * Math.PI * part()),
    wait: (meanMs) => -Math.log(part()) * meanMs,
  };
}
