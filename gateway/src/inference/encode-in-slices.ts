/**
 * Builds a long answer in slices, and lets other requests run in between, because writing two thousand vectors at once
 * would block the event loop.
 */

import type { CancelSignal } from "../base/cancel-signal.ts";
import { type Clock, sleep } from "../base/clock.ts";

/** The number of characters after which other requests may run. Encoding as many takes a few milliseconds. */
const SLICE_CHARS = 64 * 1024;

/** The bytes of `parts`; undefined if `cancelSignal` fires. */
export async function encodeInSlices(
  parts: Iterable<string>,
  { clock, cancelSignal }: { clock: Clock; cancelSignal: Pick<CancelSignal, "aborted"> },
): Promise<Uint8Array[] | undefined> {
  const done: Uint8Array[] = [];
  let slice = "";
  for (const part of parts) {
    slice += part;
    if (slice.length < SLICE_CHARS) continue;
    done.push(Buffer.from(slice));
    slice = "";
    await sleep(clock, 0);
    if (cancelSignal.aborted) return undefined;
  }
  done.push(Buffer.from(slice));
  return done;
}
