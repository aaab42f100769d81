/**
 * Limits the memory of answers that clients do not read. A stream has its own limit (http-reply.ts); a complete answer waits
 * in memory. A client that reads nothing for 10 s is disconnected. If all such answers together are too large, those
 * that wait longest are closed.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../base/clock.ts";

/** Fits ten of the largest answers: 2,048 embedding vectors have 25 MB. */
const BYTES_MAX = 256 * 1024 * 1024;
const PATIENCE_MS = 10_000;
const LOOK_EVERY_MS = 1_000;

interface UnreadOptions {
  clock: Clock;
  bytesMax?: number;
}

interface Answer {
  /** The unread bytes at the last check, and the time since which their number is unchanged. */
  left: number;
  since: number;
}

interface Unread {
  /** The memory of complete answers that are not read yet. */
  readonly bytes: number;
}

export function limitUnreadAnswers(server: Server, { clock, bytesMax = BYTES_MAX }: UnreadOptions): Unread {
  /** The connections with unread answers, oldest first. */
  const waiting = new Map<Socket, Answer>();
  let stopLooking: (() => void) | undefined;

  const sum = (): number => {
    let bytes = 0;
    for (const socket of waiting.keys()) bytes += socket.writableLength;
    return bytes;
  };
  const forget = (socket: Socket): void => {
    waiting.delete(socket);
    if (waiting.size > 0) return;
    stopLooking?.();
    stopLooking = undefined;
  };
  const close = (socket: Socket): void => {
    forget(socket);
    socket.destroy();
  };
  const look = (): void => {
    const now = clock.monotonic();
    for (const [socket, answer] of waiting) {
      const left = leftOf(socket);
      if (left !== answer.left) Object.assign(answer, { left, since: now });
      else if (now - answer.since >= PATIENCE_MS) close(socket);
    }
  };
  const ended = (socket: Socket): void => {
    waiting.delete(socket);
    waiting.set(socket, { left: leftOf(socket), since: clock.monotonic() });
    stopLooking ??= clock.every(LOOK_EVERY_MS, look);
    let bytes = sum();
    for (const oldest of waiting.keys()) {
      if (bytes <= bytesMax) break;
      bytes -= oldest.writableLength;
      close(oldest);
    }
  };
  // Runs before other listeners, because a handler may answer immediately.
  server.prependListener("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    response.once("prefinish", () => {
      if (socket.writableLength > 0 && !socket.destroyed) ended(socket);
    });
    response.once("close", () => forget(socket));
  });
  return {
    get bytes() {
      return sum();
    },
  };
}

/**
 * The number of bytes that the client has not read, which must change whenever the client reads. `writableLength` alone
 * does not: it counts a batch of writes as unwritten until all of it is written. So the number of bytes that libuv
 * still has to write is added, by which Node's `Socket.setTimeout` recognizes progress too.
 */
function leftOf(socket: Socket): number {
  const { _handle: handle } = socket as { _handle?: { writeQueueSize?: number } | null };
  return socket.writableLength + (handle?.writeQueueSize ?? 0);
}
