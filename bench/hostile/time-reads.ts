/**
 * Loaded into a gateway before its own code: takes the processor time of every piece that is read of a node, with all that
 * is done about it before the next callback runs. That is what a node's frames can keep others waiting for. A collection of
 * garbage that happens to fall into it is taken off: it costs what the whole heap costs, whichever node is read at the moment.
 */
import { PerformanceObserver, performance } from "node:perf_hooks";
import { Parser } from "../../gateway/src/plane/hub/parser.ts";

/** Shorter ones are not worth remembering. */
const READ_MS_MIN = 10;
const PAUSE_MS_MIN = 1;
const REMEMBERED_MAX = 1000;

let slow: { from: number; to: number; ms: number }[] = [];
let pauses: { startTime: number; duration: number }[] = [];

// Pauses are reported a little later, with their start times.
new PerformanceObserver((list) => {
  const more = list.getEntries().filter(({ duration }) => duration > PAUSE_MS_MIN);
  pauses = [...pauses, ...more].slice(-REMEMBERED_MAX);
}).observe({ entryTypes: ["gc"] });

/** The longest since it was last asked for, as far as it was long. */
function longestReadMs(): number {
  const own = slow.map(({ from, to, ms }) => {
    const garbage = pauses.filter(({ startTime }) => startTime >= from && startTime <= to);
    return ms - garbage.reduce((sum, { duration }) => sum + duration, 0);
  });
  slow = [];
  return Math.max(0, ...own);
}
(globalThis as { longestReadMs?: () => number }).longestReadMs = longestReadMs;

const read = Parser.prototype.push;
Parser.prototype.push = function push(...args) {
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
