/**
 * The memory that large bodies are read into: shared with the threads that read them, and used again. V8 counts memory that is
 * asked for beside its heap, and collects the whole heap when it is much, however soon it is let go: with a piece of its own for each
 * body that was once in 30 requests, and half of what such a request cost.
 */

export const PIECE_BYTES = 256 * 1024;
/** More than so many are not kept for the next body. */
const FREE_MAX = 32;

const free: SharedArrayBuffer[] = [];

export const takePiece = (): Uint8Array<SharedArrayBuffer> =>
  new Uint8Array(free.pop() ?? new SharedArrayBuffer(PIECE_BYTES));

/** No one reads them any more. Each is given back once, or not at all. */
export function givePieces(pieces: readonly Uint8Array[]): void {
  for (const { buffer } of pieces) {
    if (buffer instanceof SharedArrayBuffer && free.length < FREE_MAX) free.push(buffer);
  }
}
