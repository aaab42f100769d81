/**
 * Tells a client that half-closed its connection and still waits from one that disconnected: only writing distinguishes them. Harmless
 * bytes are written until the answer starts, several times at first, because most such clients have disconnected and pay for output
 * until it is noticed, then every second.
 */
import type { IncomingMessage } from "node:http";
import type { Clock } from "../base/clock.ts";

/** The first write provokes a reset from a closed peer; the following ones see it. */
const FIRST_LOOKS_MS = [0, 10, 50, 250];
const LOOK_EVERY_MS = 1_000;

/** Calls `probe` after the client closed its side. Returns how to stop. */
export function watchHalfClose({ socket }: IncomingMessage, clock: Clock, probe: () => void): () => void {
  let isOver = false;
  let stopTimer: (() => void) | undefined;
  const look = (nth: number): void => {
    // The write may have found the connection closed.
    if (isOver) return;
    stopTimer = clock.after(FIRST_LOOKS_MS[nth] ?? LOOK_EVERY_MS, () => {
      probe();
      look(nth + 1);
    });
  };
  const begin = (): void => look(0);
  if (socket.readableEnded) begin();
  else socket.on("end", begin);
  return () => {
    isOver = true;
    stopTimer?.();
    socket.off("end", begin);
  };
}
