/** Priorities of worker threads. */
import { setPriority } from "node:os";

const BACKGROUND_NICE = 10;

/**
 * Lowers the priority of the worker thread that calls it, because delays of the event loop affect all requests. Has an
 * effect only on Linux, where each thread has its own priority; elsewhere it would change the whole process.
 */
export function lowerThreadPriority(): void {
  if (process.platform === "linux") setPriority(0, BACKGROUND_NICE);
}
