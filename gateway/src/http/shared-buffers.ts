/**
 * Reusable shared memory for large bodies and their worker threads. V8 runs a full garbage collection when external
 * memory grows: with new memory per body that happened every 30 requests, and was half of their cost.
 */

export const SHARED_BUFFER_BYTES = 256 * 1024;
/** The maximum number of free pieces that are kept. */
const FREE_MAX = 32;

const free: SharedArrayBuffer[] = [];

export const takeSharedBuffer = (): Uint8Array<SharedArrayBuffer> =>
  new Uint8Array(free.pop() ?? new SharedArrayBuffer(SHARED_BUFFER_BYTES));

/** Returns pieces that are no longer used. Each piece must be returned at most once. */
export function returnSharedBuffers(pieces: readonly Uint8Array[]): void {
  for (const { buffer } of pieces) {
    if (buffer instanceof SharedArrayBuffer && free.length < FREE_MAX) free.push(buffer);
  }
}
