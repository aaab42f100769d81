/**
 * Limits how busy one node keeps the gateway over all its connections. Everything the node sends uses up allowance,
 * counted in milliseconds. When the node is ahead of its allowance by more than a burst, reading pauses until the
 * allowance has grown. A flood then stays in the sender's TCP window, and other nodes are served.
 */
import type { HubLimits } from "./hub-limits.ts";

export interface RateLimit {
  /** Counts handled operations and bytes. Returns the pause in milliseconds before reading continues, or 0. */
  spend(operations: number, bytes: number, nowMs: number): number;
  /** Whether the allowance is full again. */
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
