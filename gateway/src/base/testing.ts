/** For tests: a clock to turn by hand (`soon` is the event loop's own), one turn of the event loop, and the share that hosts are due. */
import { HandMovedClock } from "@tollgate/protocol/testing/manual-clock.ts";
import type { Clock } from "./clock.ts";
import { HOST_SHARE_PERCENT, type Pico, pico } from "./money.ts";

/** What the database's `host_share` must come to. */
export const hostShareOf = (charge: bigint): Pico => pico((charge * BigInt(HOST_SHARE_PERCENT)) / 100n);

/**
 * One turn of the event loop: promises that wait for nothing outside this process have settled by then. It does not wait for
 * sockets, workers or files; use `eventually` for those.
 */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export type ManualClock = Clock & Pick<HandMovedClock, "advance" | "freeze">;

export const manualClock = (startMs = Date.UTC(2030, 0, 1)): ManualClock => new HandMovedClock(startMs);
