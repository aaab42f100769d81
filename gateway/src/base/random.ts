/** Randomness as a dependency, so that the simulator can use a seed. */
import { randomFillSync } from "node:crypto";

export interface Random {
  fill(bytes: Uint8Array): void;
  /** Returns a whole number from 0 to `bound` - 1. */
  below(bound: number): number;
}

/** Reads the system's randomness in blocks, so that one system call is enough for many IDs. */
export function systemRandom(): Random {
  const pool = new Uint8Array(4096);
  let used = pool.length;
  const fill = (bytes: Uint8Array): void => {
    if (bytes.length > pool.length) {
      randomFillSync(bytes);
      return;
    }
    if (used + bytes.length > pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    bytes.set(pool.subarray(used, used + bytes.length));
    used += bytes.length;
  };
  const word = new Uint8Array(6);
  const below = (bound: number): number => {
    fill(word);
    let value = 0;
    for (const byte of word) value = value * 256 + byte;
    return value % bound;
  };
  return { fill, below };
}
