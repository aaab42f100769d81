/**
 * A long answer is built in slices, between which everyone else has a turn: an event loop that writes two thousand
 * vectors in one go serves no one meanwhile.
 */

import type { CancelSignal } from "../base/cancel.ts";
import { type Clock, sleep } from "../base/clock.ts";

/** Some milliseconds' work. */
const SLICE_CHARS = 64 * 1024;

/** The bytes of `parts`; undefined when `cancelSignal` says that no one wants them any more. */
export async function bytesOf(
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
