/** How long the disk takes to make a small write durable: every commit waits for at least one. */
import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";

const WRITES = 200;
const PAGE_BYTES = 8192;

/** The median, in milliseconds. */
export function durableWriteMs(directory: string): number {
  const file = join(directory, "durable-write.tmp");
  const page = Buffer.alloc(PAGE_BYTES, 1);
  const descriptor = openSync(file, "w");
  const times: number[] = [];
  for (let i = 0; i < WRITES; i++) {
    const start = performance.now();
    writeSync(descriptor, page, 0, PAGE_BYTES, (i % 16) * PAGE_BYTES);
    fdatasyncSync(descriptor);
    times.push(performance.now() - start);
  }
  closeSync(descriptor);
  rmSync(file);
  return times.sort((a, b) => a - b)[WRITES / 2] ?? Number.NaN;
}
