/** The agent's clock, with functions to wait. */
import { type Clock as AnyClock, wallClock } from "@tollgate/protocol/clock.ts";

export type Clock = AnyClock;
export const systemClock: Clock = wallClock;

/** Resolves after `delayMs`, or at once when `signal` aborts. */
export function sleep(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const wake = (): void => {
      cancel();
      signal.removeEventListener("abort", wake);
      resolve();
    };
    const cancel = clock.after(delayMs, wake);
    signal.addEventListener("abort", wake);
  });
}

/** Waits for one turn of the event loop. */
export function waitOneTurn(clock: Clock): Promise<void> {
  return new Promise((resolve) => clock.soon(resolve));
}
