/** Priorities of worker threads. */
import { setPriority } from "node:os";

const BACKGROUND_NICE = 10;

/**
 * Called on a worker thread: lowers its priority below the event loop's, because delays of the loop affect all requests. On Linux a
 * priority belongs to a thread; elsewhere it would change the whole process.
 */
export function lowerThreadPriority(): void {
  if (process.platform === "linux") setPriority(0, BACKGROUND_NICE);
}
