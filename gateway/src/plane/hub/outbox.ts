/**
 * What the hub says to one connection. Everything written within a tick leaves in one system call. The socket is handed
 * something only when it has got rid of what it was handed before; the rest waits here, where a small line costs little
 * more than its bytes. (Within a socket each write costs some hundred bytes: answers of six bytes that no one reads once
 * took gigabytes.) A reader that lets too much pile up is reported to the caller, who cuts it; nothing here ever waits for
 * a reader.
 */
import type { Socket } from "node:net";

/** What something that waits takes besides its bytes. */
const ENTRY_COST_BYTES = 64;
/** The socket gets at most about this much at a time. */
const HANDED_BYTES_MAX = 1024 * 1024;

export class Outbox {
  readonly #socket: Socket;
  readonly #costMax: number;
  #waiting: (string | Uint8Array)[] = [];
  #waitingCost = 0;
  /** The tick's end is awaited. */
  #batching = false;
  /** The socket has not finished with what it was handed. */
  #handed = false;

  constructor(socket: Socket, bytesMax: number) {
    this.#socket = socket;
    this.#costMax = bytesMax;
  }

  /** What waits for the reader: bytes, and what keeping them costs. */
  get cost(): number {
    return this.#waitingCost + this.#socket.writableLength;
  }

  /** Returns false once more is waiting than may. */
  line(text: string): boolean {
    this.#add(`${text}\r\n`);
    this.#batch();
    return this.cost <= this.#costMax;
  }

  /** As `line`. The payload, and what follows it, is not copied: whoever publishes it must not change it afterwards. */
  message(head: string, payload: Uint8Array, rest?: Uint8Array): boolean {
    this.#add(`${head}\r\n`);
    this.#add(payload);
    if (rest !== undefined) this.#add(rest);
    this.#add("\r\n");
    this.#batch();
    return this.cost <= this.#costMax;
  }

  /** Hands over everything that waits: the last words follow. */
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

  /** The oldest of what waits, with the lines between two payloads in one piece. */
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
