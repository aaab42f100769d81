/**
 * Exchanges messages between two processes of one gateway over a private socket. All messages of one turn of the event
 * loop are sent in one system call, because system calls dominate the cost at thousands of messages per second. A
 * message consists of its length, kind, a number, a short text and bytes. An answer has the number of its question.
 */
import type { Duplex } from "node:stream";
import type { Clock } from "./clock.ts";
import { invariant } from "./invariant.ts";
import { ShortLivedMap } from "./short-lived-collections.ts";

export interface ChannelMessage {
  /** For questions and answers: the question's number. Other kinds of messages may use it freely. */
  number: number;
  text: string;
  bytes: Buffer;
}

/** The other process has ended, or could not answer the question. */
export class ChannelError extends Error {
  override name = "ChannelError";
}

/** The answer to a question: text or bytes. */
type Reply = string | Uint8Array;

const ANSWER = 0;
const BYTES_ANSWER = 1;
const FAILURE = 2;
/** The first message kind that users of a channel may choose. */
export const LOWEST_FREE_MESSAGE_KIND = 8;

const LENGTH_BYTES = 4;
/** The bytes of kind, number and text length. */
const HEAD_BYTES = 1 + 4 + 4;
const BUFFER_BYTES = 64 * 1024;
/** Byte arrays longer than this are sent without a copy. */
const OWN_WRITE_BYTES = 8 * 1024;
/** The most UTF-8 bytes of one UTF-16 unit. */
const BYTES_PER_UNIT = 3;
/** The most data that may wait for a reader. With more, the channel closes. */
const WAITING_BYTES_MAX = 256 * 1024 * 1024;

interface Waiting {
  resolve: (message: ChannelMessage) => void;
  reject: (error: Error) => void;
}

interface Options {
  clock: Clock;
  waitingBytesMax?: number;
}

export class ProcessMessageChannel {
  /** Resolves when the channel is closed, with the error that closed it, if any. */
  readonly closed: Promise<Error | undefined>;
  readonly #socket: Duplex;
  readonly #clock: Clock;
  readonly #waitingBytesMax: number;
  readonly #handlers: ((message: ChannelMessage) => void)[] = [];
  readonly #questions = new ShortLivedMap<number, Waiting>();
  #asked = 0;
  #isClosed = false;
  #isFlushDue = false;
  #buffer = Buffer.allocUnsafe(BUFFER_BYTES);
  #used = 0;
  /** The beginning of an incomplete message. `#needed`: the number of bytes to complete it. */
  #pieces: Buffer[] = [];
  #piecesBytes = 0;
  #needed = 0;

  constructor(socket: Duplex, { clock, waitingBytesMax = WAITING_BYTES_MAX }: Options) {
    this.#socket = socket;
    this.#clock = clock;
    this.#waitingBytesMax = waitingBytesMax;
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    socket.on("end", () => socket.end());
    let cause: Error | undefined;
    socket.on("error", (error) => {
      cause = error;
    });
    this.closed = new Promise((resolve) => {
      socket.on("close", () => {
        this.#isClosed = true;
        for (const { reject } of this.#questions.all()) reject(new ChannelError("the other process has exited"));
        resolve(cause);
      });
    });
  }

  /** Calls `handle` for each message of this kind. */
  on(kind: number, handle: (message: ChannelMessage) => void): void {
    invariant(this.#handlers[kind] === undefined, "a kind of message has one handler");
    this.#handlers[kind] = handle;
  }

  /** Calls `answer` for each question of this kind. Errors are sent back to the process that asked. */
  answer(kind: number, answer: (message: ChannelMessage) => Reply | Promise<Reply>): void {
    this.on(kind, async (message) => {
      const { number } = message;
      try {
        const reply = await answer(message);
        if (typeof reply === "string") this.tell(ANSWER, { number, text: reply });
        else this.tell(BYTES_ANSWER, { number, bytes: reply });
      } catch (error) {
        this.tell(FAILURE, { number, text: (error as Error).message });
      }
    });
  }

  /**
   * Sends a message without expecting an answer. `rest` is appended to the bytes. Neither may be changed afterwards.
   */
  tell(kind: number, message: { number?: number; text?: string; bytes?: Uint8Array; rest?: Uint8Array }): void {
    if (this.#isClosed) return;
    const { number = 0, text = "", bytes, rest } = message;
    const extra = (bytes?.length ?? 0) + (rest?.length ?? 0);
    const headMax = LENGTH_BYTES + HEAD_BYTES + text.length * BYTES_PER_UNIT;
    const isOwn = extra >= OWN_WRITE_BYTES;
    this.#makeRoom(headMax + (isOwn ? 0 : extra));
    const start = this.#used;
    const textBytes = this.#buffer.write(text, start + LENGTH_BYTES + HEAD_BYTES);
    this.#buffer.writeUInt32LE(HEAD_BYTES + textBytes + extra, start);
    this.#buffer.writeUInt8(kind, start + LENGTH_BYTES);
    this.#buffer.writeUInt32LE(number, start + LENGTH_BYTES + 1);
    this.#buffer.writeUInt32LE(textBytes, start + LENGTH_BYTES + 5);
    this.#used = start + LENGTH_BYTES + HEAD_BYTES + textBytes;
    for (const part of [bytes, rest]) {
      if (part === undefined) continue;
      if (isOwn) {
        this.#flush();
        this.#socket.write(part);
      } else {
        this.#buffer.set(part, this.#used);
        this.#used += part.length;
      }
    }
    if (this.#isFlushDue) return;
    this.#isFlushDue = true;
    this.#clock.soon(() => {
      this.#isFlushDue = false;
      this.#flush();
      if (this.#socket.writableLength > this.#waitingBytesMax) this.#socket.destroy();
    });
  }

  ask(kind: number, text: string): Promise<ChannelMessage> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) {
        reject(new ChannelError("the other process has exited"));
        return;
      }
      this.#asked = (this.#asked + 1) >>> 0;
      this.#questions.add(this.#asked, { resolve, reject });
      this.tell(kind, { number: this.#asked, text });
    });
  }

  /** Closes the channel. Messages that were sent before still arrive. */
  close(): void {
    this.#flush();
    this.#socket.end();
  }

  #makeRoom(bytes: number): void {
    if (this.#used + bytes <= this.#buffer.length) return;
    this.#flush();
    if (bytes > this.#buffer.length) this.#buffer = Buffer.allocUnsafe(bytes);
  }

  #flush(): void {
    if (this.#used === 0) return;
    const said = this.#buffer.subarray(0, this.#used);
    this.#used = 0;
    // The socket reads `said` until it is sent, so that part of the buffer must not be overwritten.
    this.#buffer = this.#buffer.subarray(said.length);
    if (this.#buffer.length < BUFFER_BYTES / 4) this.#buffer = Buffer.allocUnsafe(BUFFER_BYTES);
    this.#socket.write(said);
  }

  #read(chunk: Buffer): void {
    let read = chunk;
    if (this.#piecesBytes > 0) {
      this.#pieces.push(chunk);
      this.#piecesBytes += chunk.length;
      if (this.#piecesBytes < this.#needed) return;
      read = Buffer.concat(this.#pieces, this.#piecesBytes);
      this.#pieces = [];
      this.#piecesBytes = 0;
    }
    let at = 0;
    this.#needed = LENGTH_BYTES;
    while (read.length - at >= LENGTH_BYTES) {
      const end = at + LENGTH_BYTES + read.readUInt32LE(at);
      if (end > read.length) {
        this.#needed = end - at;
        break;
      }
      this.#handle(read, at + LENGTH_BYTES, end);
      at = end;
    }
    if (at === read.length) return;
    this.#pieces = [read.subarray(at)];
    this.#piecesBytes = read.length - at;
  }

  #handle(read: Buffer, start: number, end: number): void {
    const kind = read.readUInt8(start);
    const number = read.readUInt32LE(start + 1);
    const textEnd = start + HEAD_BYTES + read.readUInt32LE(start + 5);
    const text = read.toString("utf8", start + HEAD_BYTES, textEnd);
    const message = { number, text, bytes: read.subarray(textEnd, end) };
    if (kind >= LOWEST_FREE_MESSAGE_KIND) {
      const handle = this.#handlers[kind];
      invariant(handle !== undefined, `nobody handles messages of kind ${kind}`);
      handle(message);
      return;
    }
    const waiting = this.#questions.get(number);
    this.#questions.delete(number);
    if (kind === FAILURE) waiting?.reject(new ChannelError(text));
    else waiting?.resolve(message);
  }
}
