/**
 * How fast one node may keep the gateway busy, with all its connections together. What it sends is counted in milliseconds
 * of allowance; once it has used more than a burst ahead of time, it rests until time has caught up. A flood then stays in
 * the sender's own TCP window and other nodes keep their turn.
 */
import type { HubLimits } from "./limits.ts";

export interface RateLimit {
  /** Counts what was just handled and says how many milliseconds to stop reading; 0 for none. */
  spend(operations: number, bytes: number, nowMs: number): number;
  /** Whether time has caught up with all that was counted. */
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
