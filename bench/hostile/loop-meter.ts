/**
 * How long the gateway's event loop was busy at a stretch, in processor time of its main thread: a run on a busy machine must
 * not blame the gateway for the time it was not let run. Two figures:
 * - the longest handling of one piece read of a node (time-reads.ts), which the frames alone are to blame for;
 * - the longest stretch between two beats of a timer of 5 ms. That holds whatever else came in at the same moment, some dozens of
 *   requests after the gateway had to wait for a processor, so it says less, and is held to a wide bound.
 */
import type { MemoryProbe } from "../../e2e/fuzz/memory.ts";

/** Loaded into the gateway, so that it knows of its reads. */
export const TIME_READS_URL = new URL("./time-reads.ts", import.meta.url).href;
export const TIME_READS = `--import ${TIME_READS_URL}`;

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

export interface LoopUse {
  /** The longest turn since the last reading. */
  turnMs: number;
  /** The longest handling of one piece that was read of a node, without garbage; 0 if none was long. */
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

  /** What was measured since the last reading. */
  read(): Promise<LoopUse> {
    return this.#probe.evaluate("loopMeter.read()");
  }
}
