/**
 * A gateway's time of day follows the database's clock. Every heartbeat reads that clock, and the monotonic clock
 * counts from there, so a step of this machine's clock has no effect. Budgets, windows, expiries and record times are
 * computed both here and in SQL. With one clock, both compute the same day.
 */
import type pg from "pg";
import { z } from "zod";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { rateLimitedLog } from "../base/rate-limited-log.ts";
import { queryOne, row } from "./rows.ts";

/** A larger offset of the machine's clock is logged. */
const OFF_MS_MAX = 10_000;
/** The maximum drift between the monotonic clock and the database's: quartz is within 100 ppm. */
const DRIFT = 0.0001;
/**
 * After a jump, the number of readings in a row that must agree before the clock is reliable again. Heartbeats read the
 * clock every 500 ms in use, otherwise every 2 s.
 */
const AGREEING_MIN = 8;
const CLOCK_UNCERTAINTY_MS_MAX = 5_000;

/** A reading of the database's clock, with the monotonic times of the request and the response. */
export interface ClockReading {
  theirs: number;
  askedAt: number;
  heardAt: number;
}

/** The estimate of the database's clock, based on the readings so far. */
interface ClockEstimate {
  /** The database clock minus the monotonic clock, in ms. */
  aheadMs: number;
  /** The maximum error of `aheadMs`, in ms. */
  errorMs: number;
  heardAt: number;
  /**
   * How far the database's clock jumped last, until `AGREEING_MIN` readings in a row agree with the estimate. Then 0.
   */
  jumpMs: number;
  agreeing: number;
}

/**
 * Combines a reading with the previous estimate. Keeps the estimate while it agrees with the reading, so that time does
 * not jitter. Pure.
 */
export function updateClockEstimate(
  known: ClockEstimate | undefined,
  { theirs, askedAt, heardAt }: ClockReading,
  jumpMsMin: number,
): ClockEstimate {
  const [low, high] = [theirs - heardAt, theirs - askedAt];
  const middle = (low + high) / 2;
  if (known === undefined) return { aheadMs: middle, errorMs: high - middle, heardAt, jumpMs: 0, agreeing: 0 };
  const offMs = Math.max(low - known.aheadMs, known.aheadMs - high, 0);
  const aheadMs = offMs > 0 ? middle : known.aheadMs;
  const seen = Math.max(aheadMs - low, high - aheadMs);
  const errorMs = offMs > 0 ? seen : Math.min(seen, errorAt(known, heardAt));
  if (offMs > jumpMsMin) return { aheadMs, errorMs, heardAt, jumpMs: offMs, agreeing: 0 };
  const agreeing = known.agreeing + 1;
  return { aheadMs, errorMs, heardAt, jumpMs: agreeing < AGREEING_MIN ? known.jumpMs : 0, agreeing };
}

const errorAt = ({ errorMs, heardAt }: ClockEstimate, at: number): number =>
  errorMs + Math.max(0, at - heardAt) * DRIFT;

/** The maximum error of the time of day at the monotonic time `at`. Pure. */
export const computeClockUncertainty = (fix: ClockEstimate | undefined, at: number): number =>
  fix === undefined ? Number.POSITIVE_INFINITY : errorAt(fix, at) + fix.jumpMs;

/** Why the time of day is unreliable, or undefined. Pure. */
export function describeClockTrouble(
  fix: ClockEstimate | undefined,
  { at, msMax }: { at: number; msMax: number },
): string | undefined {
  const uncertainty = computeClockUncertainty(fix, at);
  if (uncertainty <= msMax) return undefined;
  if (fix === undefined) return "this gateway has not read the database's clock yet";
  const bound = `CLOCK_UNCERTAINTY_MAX_S is ${msMax / 1000}`;
  if (fix.jumpMs > 0) return `the database's clock jumped by ${seconds(fix.jumpMs)}; ${bound}`;
  return `the database's clock is known only to within ${seconds(uncertainty)}; ${bound}`;
}

const seconds = (ms: number): string => `${Math.round(ms / 1000)} s`;

export interface DatabaseClockState {
  /** The difference between the database's clock and this machine's. Null before the first reading. */
  offsetMs: number | null;
  uncertaintyMs: number;
  /** Why the gateway's time of day is unreliable. Undefined when it is reliable. */
  trouble: string | undefined;
}

export interface DatabaseClock {
  /** A clock whose time of day is the database's. Everything else comes from this machine's clock. */
  clock: Clock;
  read(reading: ClockReading): void;
  state(): DatabaseClockState;
}

interface DatabaseClockOptions {
  machine: Clock;
  log: Log;
  uncertaintyMsMax?: number;
}

export function openDatabaseClock({
  machine,
  log,
  uncertaintyMsMax: msMax = CLOCK_UNCERTAINTY_MS_MAX,
}: DatabaseClockOptions): DatabaseClock {
  const sparing = rateLimitedLog(log, machine);
  let fix: ClockEstimate | undefined;
  let isTroubled = false;
  const now = (): number => (fix === undefined ? machine.now() : Math.floor(machine.monotonic() + fix.aheadMs));
  const offsetMs = (): number | null => (fix === undefined ? null : machine.monotonic() + fix.aheadMs - machine.now());

  const report = (reading: ClockReading): void => {
    const reason = describeClockTrouble(fix, { at: reading.heardAt, msMax });
    if (reason !== undefined)
      sparing.error("", { reason }, "the database's clock is unreliable, so this gateway is not ready");
    else if (isTroubled) log.info("the database's clock is reliable again");
    isTroubled = reason !== undefined;
    const offMs = offsetMs() ?? 0;
    // Allows for the round trip, all of which may have been spent in one direction.
    if (Math.abs(offMs) - (reading.heardAt - reading.askedAt) / 2 <= OFF_MS_MAX) return;
    const [ours, theirs] = [new Date(machine.now()).toISOString(), new Date(now()).toISOString()];
    sparing.warn(
      "",
      { seconds: Math.abs(Math.round(offMs / 1000)), ours, theirs },
      `this machine's clock is ${offMs > 0 ? "behind" : "ahead of"} the database's clock, which the gateway uses; synchronise both clocks with NTP`,
    );
  };

  return {
    clock: { ...machine, now },
    read(reading) {
      fix = updateClockEstimate(fix, reading, msMax);
      report(reading);
    },
    state: () => {
      const at = machine.monotonic();
      return {
        offsetMs: offsetMs(),
        uncertaintyMs: computeClockUncertainty(fix, at),
        trouble: describeClockTrouble(fix, { at, msMax }),
      };
    },
  };
}

const Now = row({ ms: z.number() });

/** Reads the clock with a query of its own. Later readings come with heartbeats. */
export async function readClock(
  pool: pg.Pool,
  { monotonic }: Pick<Clock, "monotonic">,
  into: Pick<DatabaseClock, "read">,
): Promise<void> {
  const askedAt = monotonic();
  const { ms: theirs } = await queryOne(pool, Now, "select extract(epoch from clock_timestamp())::float8 * 1000 as ms");
  into.read({ theirs, askedAt, heardAt: monotonic() });
}
