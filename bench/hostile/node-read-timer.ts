/**
 * Measures the processor time of every read from a node, including everything done before the next callback runs: a
 * node's frames can delay other requests by that time. Loaded into a gateway before its own code.
 *
 * Garbage collection in that period is subtracted, because it depends on the whole heap and not on the node.
 */
import { PerformanceObserver, performance } from "node:perf_hooks";
import { NatsProtocolParser } from "../../gateway/src/plane/hub/protocol-parser.ts";

/** Shorter reads are not recorded. */
const READ_MS_MIN = 10;
const PAUSE_MS_MIN = 1;
const REMEMBERED_MAX = 1000;

let slow: { from: number; to: number; ms: number }[] = [];
let pauses: { startTime: number; duration: number }[] = [];

// The garbage collector's pauses are reported a little later, with their start times.
new PerformanceObserver((list) => {
  const more = list.getEntries().filter(({ duration }) => duration > PAUSE_MS_MIN);
  pauses = [...pauses, ...more].slice(-REMEMBERED_MAX);
}).observe({ entryTypes: ["gc"] });

/** Returns the longest recorded read since the last call; 0 if none was recorded. */
function longestReadMs(): number {
  const own = slow.map(({ from, to, ms }) => {
    const garbage = pauses.filter(({ startTime }) => startTime >= from && startTime <= to);
    return ms - garbage.reduce((sum, { duration }) => sum + duration, 0);
  });
  slow = [];
  return Math.max(0, ...own);
}
(globalThis as { longestReadMs?: () => number }).longestReadMs = longestReadMs;

const read = NatsProtocolParser.prototype.push;
NatsProtocolParser.prototype.push = function push(...args) {
  const from = performance.now();
  const before = process.threadCpuUsage();
  try {
    return read.apply(this, args);
  } finally {
    const { user, system } = process.threadCpuUsage(before);
    const ms = (user + system) / 1000;
    if (ms > READ_MS_MIN) slow = [...slow, { from, to: performance.now(), ms }].slice(-REMEMBERED_MAX);
  }
};
