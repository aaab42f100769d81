/**
 * How long the gateway's event loop was busy at a stretch: the processor time its main thread took between two beats of a
 * timer of 5 ms. Processor time, because a run on a busy machine must not blame the gateway for the time it was not let
 * run: a turn of the loop that works for 50 ms does so on any machine, and one that waits for a processor does not count.
 * Collections of garbage on the main thread are in it.
 */
import type { MemoryProbe } from "../memory.ts";

const NAME = "globalThis.loopMeter";
const METER = `(() => {
  let last = process.threadCpuUsage();
  let worstMs = 0;
  const ms = ({ user, system }) => (user + system) / 1000;
  setInterval(() => {
    const now = process.threadCpuUsage();
    worstMs = Math.max(worstMs, ms(now) - ms(last));
    last = now;
  }, 5).unref();
  ${NAME} = {
    read() {
      const read = { worstMs, busyMs: ms(process.threadCpuUsage()) };
      worstMs = 0;
      last = process.threadCpuUsage();
      return read;
    },
  };
  return true;
})()`;

export interface LoopUse {
  /** The longest turn since the last reading. */
  worstMs: number;
  /** Processor time of the main thread, since it began. */
  busyMs: number;
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
    return this.#probe.evaluate(`${NAME}.read()`);
  }
}
