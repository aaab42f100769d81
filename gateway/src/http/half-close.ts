/**
 * A client may close its sending side once it has asked, and still wait for its answer. From here that looks like one who
 * has left: only writing tells them apart, because whoever is gone refuses what is written. So to a client that has closed
 * its side something harmless is written for as long as it has no answer: a few times at once, because most have left and
 * pay for what is generated until it is noticed, then every second.
 */
import type { IncomingMessage } from "node:http";
import type { Clock } from "../base/clock.ts";

/** The first write is what a machine that is gone refuses; the next ones are told of it. */
const FIRST_LOOKS_MS = [0, 10, 50, 250];
const LOOK_EVERY_MS = 1_000;

/** Calls `probe` from when the client has closed its side. The returned function ends it. */
export function watchForLeaving({ socket }: IncomingMessage, clock: Clock, probe: () => void): () => void {
  let isOver = false;
  let stopTimer: (() => void) | undefined;
  const look = (nth: number): void => {
    // Writing may have found that no one is there, and ended it.
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
