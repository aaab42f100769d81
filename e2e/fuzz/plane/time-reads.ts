/**
 * Loaded into a gateway before its own code: takes the processor time of every piece that is read of a node, with all that
 * is done about it before the next callback runs. That is what a node's frames can keep others waiting for.
 */
import { Parser } from "../../../gateway/src/dispatch/hub/parser.ts";

export interface Reads {
  /** The longest since it was last asked for. */
  worstMs: number;
}

const reads: Reads = { worstMs: 0 };
(globalThis as { planeReads?: Reads }).planeReads = reads;

const read = Parser.prototype.push;
Parser.prototype.push = function push(chunk) {
  const before = process.threadCpuUsage();
  try {
    return read.call(this, chunk);
  } finally {
    const { user, system } = process.threadCpuUsage(before);
    reads.worstMs = Math.max(reads.worstMs, (user + system) / 1000);
  }
};
