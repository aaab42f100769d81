/** Threads beside the event loop. */
import { setPriority } from "node:os";

const BACKGROUND_NICE = 10;

/**
 * Called on a worker thread: where processors are short, the event loop goes first. What a worker does is long and can wait; whom
 * the loop keeps waiting is everyone. On Linux a priority is a thread's own; elsewhere it would be the whole process's.
 */
export function stepBack(): void {
  if (process.platform === "linux") setPriority(0, BACKGROUND_NICE);
}
