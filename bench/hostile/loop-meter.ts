/**
 * Measures the longest periods for which the gateway's event loop was busy, in processor time of its main thread,
 * because on a busy machine the gateway also waits for a processor. Two figures:
 * - the longest handling of one read from a node (node-read-timer.ts), which only the node's frames cause;
 * - the longest time between two beats of a 5 ms timer. It includes everything that arrived at the same moment (dozens
 * of requests if the gateway had to wait for a processor), so its bound is wide.
 */
import type { MemoryProbe } from "../../e2e/fuzz/gateway-memory.ts";

/** The module that is loaded into the gateway to measure its reads. */
export const NODE_READ_TIMER_URL = new URL("./node-read-timer.ts", import.meta.url).href;
export const NODE_READ_TIMER_FLAG = `--import ${NODE_READ_TIMER_URL}`;

const METER = `(() => {
  let last = process.threadCpuUsage();
  let worstMs = 0;
  const ms = ({ user, system }) => (user + system) / 1000;
  setInterval(() => {
    const now = process.threadCpuUsage();
    worstMs = Math.max(worstMs, ms(now) - ms(last));
    last = now;
  }, 5).unref();
  globalThis.loopMeter = {
    read() {
      const read = { turnMs: worstMs, readMs: longestReadMs() };
      worstMs = 0;
      last = process.threadCpuUsage();
      return read;
    },
  };
  return true;
})()`;

export interface LoopDelays {
  /** The longest turn of the event loop since the last reading, in ms. */
  turnMs: number;
  /** The longest handling of one read from a node in ms, without garbage collection; 0 if none was long. */
  readMs: number;
}

export class LoopMeter {
  readonly #probe: MemoryProbe;

  private constructor(probe: MemoryProbe) {
    this.#probe = probe;
  }

  static async install(probe: MemoryProbe): Promise<LoopMeter> {
    await probe.evaluate(METER);
    return new LoopMeter(probe);
  }

  /** Returns the figures since the last reading. */
  read(): Promise<LoopDelays> {
    return this.#probe.evaluate("loopMeter.read()");
  }
}
