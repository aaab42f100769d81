/**
 * Test helpers: a clock that the test moves, one turn of the event loop, hosts' expected shares, and seeded randomness.
 */
import { BaseManualClock } from "@tollgate/protocol/testing/manual-clock.ts";

export { timeoutFreeClock } from "@tollgate/protocol/testing/timeout-free-clock.ts";

import type { Clock } from "./clock.ts";
import { HOST_SHARE_PERCENT, type Pico, pico } from "./money.ts";
import type { Random } from "./random.ts";

/** The host's share of a charge, to compare with the result of the database's `host_share`. */
export const computeHostShare = (charge: bigint): Pico => pico((charge * BigInt(HOST_SHARE_PERCENT)) / 100n);

/**
 * Waits for one turn of the event loop, in which promises settle that wait for nothing outside this process. For
 * sockets, workers or files use `eventually`.
 */
export const waitOneTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export type ManualClock = Clock & Pick<BaseManualClock, "advance" | "freeze">;

export const manualClock = (startMs = Date.UTC(2030, 0, 1)): ManualClock => new BaseManualClock(startMs);

/** The Mulberry32 generator, which is random enough for tests. */
export function seededRandom(seed: number): Random {
  let state = seed;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return (bits ^ (bits >>> 14)) >>> 0;
  };
  return {
    fill(bytes) {
      for (let i = 0; i < bytes.length; i++) bytes[i] = next();
    },
    below: (bound) => Math.floor((next() / 2 ** 32) * bound),
  };
}
