/** Random choices from a random source that the caller passes in. */
import type { Random } from "../../base/random.ts";

export interface RandomChoices {
  /** A whole number between both bounds, inclusive. */
  between(least: number, most: number): number;
  /** Returns true with this probability in percent. */
  percent(chance: number): boolean;
  pick<T>(of: readonly T[]): T;
  /** Returns this many different elements in random order. */
  some<T>(count: number, of: readonly T[]): T[];
  /** A normally distributed number with mean 0 and standard deviation 1. */
  normal(): number;
  /** An exponentially distributed waiting time with this mean, as between independent requests. */
  wait(meanMs: number): number;
}

const STEPS = 2 ** 30;

export function randomChoices(random: Random): RandomChoices {
  /** A uniform random number above 0 and at most 1. */
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
