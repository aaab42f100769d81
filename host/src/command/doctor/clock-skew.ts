/** How far this machine's clock is from the gateway's, as far as an HTTP date can tell. */
import type { Ping } from "../gateway/client.ts";
import { milliseconds } from "../terminal/format.ts";
import { type Check, fail, ok, warn } from "./check.ts";

const SECOND_MS = 1000;
/** The date is cut to the second, and answers take their time. */
const NOTICED_MS = 5_000;
/** Credentials live for an hour and are renewed by this machine's clock when two thirds have passed. */
const HARMFUL_MS = 10 * 60_000;

/** Positive where this machine is ahead; 0 where the two agree within what a date without fractions can say. */
export function clockSkewMs({ elapsedMs, serverTimeMs }: Ping, nowMs: number): number | undefined {
  if (serverTimeMs === undefined) return undefined;
  // The answer was written somewhere between asking and now.
  const [earliest, latest] = [nowMs - elapsedMs, nowMs];
  if (earliest > serverTimeMs + SECOND_MS) return earliest - serverTimeMs - SECOND_MS;
  return latest < serverTimeMs ? latest - serverTimeMs : 0;
}

export function clockCheck(ping: Ping, nowMs: number): Check {
  const skew = clockSkewMs(ping, nowMs);
  if (skew === undefined)
    return warn("clock", "the gateway's answer has no date", "check this machine's clock yourself");
  const off = Math.abs(skew);
  if (off < NOTICED_MS) return ok("clock", "agrees with the gateway's");
  const detail = `${milliseconds(off)} ${skew > 0 ? "ahead of" : "behind"} the gateway's`;
  const next = "set this machine's clock by the network: timedatectl set-ntp true";
  return off < HARMFUL_MS ? warn("clock", detail, next) : fail("clock", detail, next);
}
