/**
 * Distinguishes a client that half-closed its connection and still waits from a client that disconnected. Only writing
 * to the connection tells them apart. Harmless bytes are written until the answer starts. The first writes follow each
 * other quickly, because most such clients have disconnected, and tokens are generated and charged until this is
 * noticed.
 */
import type { IncomingMessage } from "node:http";
import type { Clock } from "../base/clock.ts";

/**
 * The delays of the first writes in milliseconds, each after the one before. The first write makes a disconnected
 * client's system reset the connection, and one of the next writes notices the reset.
 */
const FIRST_LOOKS_MS = [0, 10, 50, 250];
const LOOK_EVERY_MS = 1_000;

/** Calls `probe` repeatedly once the client has closed its side. Returns a function that stops this. */
export function watchHalfClose({ socket }: IncomingMessage, clock: Clock, probe: () => void): () => void {
  let isOver = false;
  let stopTimer: (() => void) | undefined;
  const look = (nth: number): void => {
    // The previous write may have found the connection closed.
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
