/**
 * What the hub says to one connection. Everything written within a tick leaves in one system call. A reader that lets
 * too much pile up is reported to the caller, who cuts it; nothing here ever waits for a reader.
 */
import type { Socket } from "node:net";

const LINE_END = Buffer.from("\r\n");

export class Outbox {
  readonly #socket: Socket;
  readonly #bytesMax: number;
  #batching = false;

  constructor(socket: Socket, bytesMax: number) {
    this.#socket = socket;
    this.#bytesMax = bytesMax;
  }

  /** Returns false once more is waiting than may. */
  line(text: string): boolean {
    this.#batch();
    this.#socket.write(`${text}\r\n`, "latin1");
    return this.#socket.writableLength <= this.#bytesMax;
  }

  /** As `line`. The payload is not copied: whoever publishes it must not change it afterwards. */
  message(head: string, payload: Uint8Array): boolean {
    this.#batch();
    this.#socket.write(`${head}\r\n`, "latin1");
    this.#socket.write(payload);
    this.#socket.write(LINE_END);
    return this.#socket.writableLength <= this.#bytesMax;
  }

  #batch(): void {
    if (this.#batching) return;
    this.#batching = true;
    this.#socket.cork();
    process.nextTick(() => {
      this.#batching = false;
      this.#socket.uncork();
    });
  }
}
