/**
 * The unsent data of one connection. Everything written within a tick is sent in one system call. The socket gets new
 * data only when it has sent the previous data. Until then data waits here, where a small line costs little more than
 * its bytes. (Inside a socket each write costs some hundred bytes: unread replies of six bytes once took gigabytes.)
 * When too much waits, the caller disconnects the reader.
 */
import type { Socket } from "node:net";

/** The memory cost of a waiting entry besides its own bytes. */
const ENTRY_COST_BYTES = 64;
/** The most bytes that are passed to the socket at a time. */
const HANDED_BYTES_MAX = 1024 * 1024;

export class ConnectionOutbox {
  readonly #socket: Socket;
  readonly #costMax: number;
  #waiting: (string | Uint8Array)[] = [];
  #waitingCost = 0;
  /** Whether sending at the end of this tick is scheduled. */
  #batching = false;
  /** Whether the socket is still sending data. */
  #handed = false;

  constructor(socket: Socket, bytesMax: number) {
    this.#socket = socket;
    this.#costMax = bytesMax;
  }

  /** The memory cost of all waiting entries, in bytes. */
  get cost(): number {
    return this.#waitingCost + this.#socket.writableLength;
  }

  /** Adds a line. Returns false when more data is waiting than allowed. */
  line(text: string): boolean {
    this.#add(`${text}\r\n`);
    this.#batch();
    return this.cost <= this.#costMax;
  }

  /**
   * Adds a message. Returns false when more data is waiting than allowed. The payload and `rest` are not copied, so the
   * caller must not change them afterwards.
   */
  message(head: string, payload: Uint8Array, rest?: Uint8Array): boolean {
    this.#add(`${head}\r\n`);
    this.#add(payload);
    if (rest !== undefined) this.#add(rest);
    this.#add("\r\n");
    this.#batch();
    return this.cost <= this.#costMax;
  }

  /** Sends all waiting data, because the connection is about to end. */
  finish(): void {
    this.#hand(Number.POSITIVE_INFINITY);
  }

  #add(piece: string | Uint8Array): void {
    this.#waiting.push(piece);
    this.#waitingCost += piece.length + ENTRY_COST_BYTES;
  }

  #batch(): void {
    if (this.#batching || this.#handed) return;
    this.#batching = true;
    process.nextTick(() => {
      this.#batching = false;
      if (!this.#handed) this.#hand(HANDED_BYTES_MAX);
    });
  }

  #hand(bytesMax: number): void {
    const pieces = this.#take(bytesMax);
    const last = pieces.pop();
    if (last === undefined) return;
    this.#handed = true;
    this.#socket.cork();
    for (const piece of pieces) this.#write(piece);
    this.#write(last, () => {
      this.#handed = false;
      this.#hand(HANDED_BYTES_MAX);
    });
    this.#socket.uncork();
  }

  #write(piece: string | Uint8Array, done?: () => void): void {
    if (typeof piece === "string") this.#socket.write(piece, "latin1", done);
    else this.#socket.write(piece, done);
  }

  /** Removes the oldest waiting entries. Consecutive lines are joined into one piece. */
  #take(bytesMax: number): (string | Uint8Array)[] {
    const pieces: (string | Uint8Array)[] = [];
    let lines: string[] = [];
    let count = 0;
    let bytes = 0;
    const join = (): void => {
      if (lines.length > 0) pieces.push(lines.join(""));
      lines = [];
    };
    for (; count < this.#waiting.length && bytes < bytesMax; count++) {
      const piece = this.#waiting[count] as string | Uint8Array;
      bytes += piece.length;
      if (typeof piece === "string") lines.push(piece);
      else {
        join();
        pieces.push(piece);
      }
    }
    join();
    this.#waiting = count === this.#waiting.length ? [] : this.#waiting.slice(count);
    this.#waitingCost -= bytes + count * ENTRY_COST_BYTES;
    return pieces;
  }
}
