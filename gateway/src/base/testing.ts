/** For tests: a clock to turn by hand (`soon` is the event loop's own), and the share that hosts are due. */
import { HandMovedClock } from "@tollgate/protocol/testing/manual-clock.ts";
import { HOST_SHARE_PERCENT, type Pico, pico } from "./money.ts";

/** What the database's `host_share` must come to. */
export const hostShareOf = (charge: bigint): Pico => pico((charge * BigInt(HOST_SHARE_PERCENT)) / 100n);

export type ManualClock = HandMovedClock;

export const manualClock = (startMs = Date.UTC(2030, 0, 1)): ManualClock => new HandMovedClock(startMs);
