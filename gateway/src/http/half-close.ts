/**
 * A client may close its sending side once it has asked, and still wait for its answer. From here that looks like one who
 * has left: only writing tells them apart, because whoever is gone refuses what is written. So to a client that has closed
 * its side something harmless is written every second for as long as it has no answer.
 */
import type { IncomingMessage } from "node:http";
import type { Clock } from "../base/clock.ts";

const LOOK_EVERY_MS = 1_000;

/** Calls `probe` every second from when the client has closed its side. The returned function ends it. */
export function watchForLeaving({ socket }: IncomingMessage, clock: Clock, probe: () => void): () => void {
  let isOver = false;
  let stopTimer = (): void => {};
  const look = (): void => {
    stopTimer = clock.after(LOOK_EVERY_MS, () => {
      if (socket.readableEnded) probe();
      // Writing may have found that nobody is there, and ended it.
      if (!isOver) look();
    });
  };
  look();
  return () => {
    isOver = true;
    stopTimer();
  };
}
