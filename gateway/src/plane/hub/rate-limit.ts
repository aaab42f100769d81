/**
 * Limits how busy one node keeps the gateway over all its connections. What it sends is counted in milliseconds of allowance. Once it is a
 * burst ahead of time, reading stops until time has caught up. A flood then stays in the sender's TCP window, and other nodes are served.
 */
import type { HubLimits } from "./limits.ts";

export interface RateLimit {
  /** Counts handled operations. Returns for how many milliseconds to stop reading; 0 for none. */
  spend(operations: number, bytes: number, nowMs: number): number;
  /** Whether time has caught up with everything counted. */
  isFresh(nowMs: number): boolean;
}

type Rates = Pick<HubLimits, "operationsPerSecondMax" | "inboundBytesPerSecondMax" | "burstMs">;

export function createRateLimit(limits: Rates): RateLimit {
  const msPerOperation = 1000 / limits.operationsPerSecondMax;
  const msPerByte = 1000 / limits.inboundBytesPerSecondMax;
  let paidUntilMs = 0;
  return {
    spend(operations, bytes, nowMs) {
      paidUntilMs = Math.max(paidUntilMs, nowMs) + operations * msPerOperation + bytes * msPerByte;
      const aheadMs = paidUntilMs - nowMs;
      return aheadMs > limits.burstMs ? aheadMs - limits.burstMs : 0;
    },
    isFresh: (nowMs) => paidUntilMs <= nowMs,
  };
}
