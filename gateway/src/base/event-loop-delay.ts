/**
 * Measures the event loop's delay by the lateness of a timer. Node.js's own monitor, which prom-client uses, fires a
 * hundred times a second at all times; this one does so only while the event loop is busy. While idle it samples every
 * two seconds and counts the skipped samples as on time, so that percentiles are comparable.
 */
import { createHistogram, performance } from "node:perf_hooks";
import type { Clock } from "./clock.ts";

/** The sampling interval while busy. As in Node.js's monitor, every figure includes it. */
const BUSY_LOOK_MS = 10;
const REST_LOOK_MS = 2_000;
/** The share of busy time above which the event loop counts as busy. Checked at the idle interval. */
const BUSY_FROM = 0.1;
const NS_PER_MS = 1e6;
const NS_PER_S = 1e9;

interface LoopDelayOptions {
  clock: Clock;
  /** The share of busy time of the event loop since the previous call. */
  utilization?: () => number;
}

/** In seconds, over the time since the previous read. */
export type LoopDelays = Record<"last" | "min" | "max" | "mean" | "stddev" | "p50" | "p90" | "p99", number>;

interface LoopDelay {
  read(): LoopDelays;
  stop(): void;
}

export function watchLoopDelay({ clock, utilization = ownUtilization() }: LoopDelayOptions): LoopDelay {
  const histogram = createHistogram();
  let everyMs = REST_LOOK_MS;
  let lookedAt = clock.monotonic();
  let judgedAt = lookedAt;
  let lastMs = BUSY_LOOK_MS;
  const record = (ms: number): void => histogram.record(Math.max(1, Math.round(ms * NS_PER_MS)));

  const look = (): void => {
    const now = clock.monotonic();
    const lateMs = Math.max(0, now - lookedAt - everyMs);
    lookedAt = now;
    lastMs = BUSY_LOOK_MS + lateMs;
    for (let leftOut = everyMs / BUSY_LOOK_MS - 1; leftOut > 0; leftOut--) record(BUSY_LOOK_MS);
    record(lastMs);
    if (now - judgedAt < REST_LOOK_MS) return;
    judgedAt = now;
    setPace(utilization() < BUSY_FROM ? REST_LOOK_MS : BUSY_LOOK_MS);
  };
  let stop = clock.every(everyMs, look);
  const setPace = (ms: number): void => {
    if (ms === everyMs) return;
    stop();
    everyMs = ms;
    stop = clock.every(ms, look);
  };

  return {
    read() {
      // There was no sample since the previous read, so the last value is reported.
      if (histogram.count === 0) record(lastMs);
      const { min, max, mean, stddev } = histogram;
      const inSeconds = (ns: number): number => ns / NS_PER_S;
      const delays = {
        last: lastMs / 1000,
        min: inSeconds(min),
        max: inSeconds(max),
        mean: inSeconds(mean),
        stddev: inSeconds(stddev),
        p50: inSeconds(histogram.percentile(50)),
        p90: inSeconds(histogram.percentile(90)),
        p99: inSeconds(histogram.percentile(99)),
      };
      histogram.reset();
      return delays;
    },
    stop: () => stop(),
  };
}

function ownUtilization(): () => number {
  let before = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    return utilization;
  };
}
