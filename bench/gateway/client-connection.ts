/**
 * A keep-alive HTTP/1.1 connection without pipelining, on a plain socket: an ordinary client would use more processor
 * time than some of the measured gateways. It checks that an answer is complete and parses nothing else.
 */
import { connect, type Socket } from "node:net";
import { nowUs } from "./process-resource-usage.ts";

const HEAD_END = Buffer.from("\r\n\r\n");
const LINE_FEED = 10;
const BLANK = 32;

type State = "head" | "length" | "chunk size" | "chunk" | "chunk end" | "trailer" | "until close";

export interface TimedAnswer {
  status: number;
  sentAtUs: number;
  /** When the first byte of the body arrived. */
  firstByteAtUs: number;
  /** The time when the read with the stream's first word ended; 0 if no word arrived. */
  firstWordAtUs: number;
  endedAtUs: number;
  events: number;
  /** The number of spaces in the answer: one before every word of the fake engine, and one in every event. */
  blanks: number;
  /** Whether the stream ended with the closing marker `[DONE]`. */
  done: boolean;
  /** Undefined if the answer was complete; otherwise what went wrong. */
  failure: string | undefined;
}

export class ClientConnection {
  readonly #port: number;
  /** Called with the age of every timestamp in a stream. */
  readonly #onStamp: ((ageUs: number) => void) | undefined;
  #socket: Socket | undefined;
  #state: State = "head";
  #rest: Buffer | undefined;
  #left = 0;
  #isStream = false;
  #closes = false;
  #counter = new EventCounter(undefined);
  #answer: TimedAnswer = emptyAnswer();
  #resolve: ((answer: TimedAnswer) => void) | undefined;

  constructor(port: number, onStamp?: (ageUs: number) => void) {
    this.#port = port;
    this.#onStamp = onStamp;
  }

  get isOpen(): boolean {
    return this.#socket !== undefined;
  }

  open(): Promise<void> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port: this.#port, host: "127.0.0.1", noDelay: true });
      socket.once("connect", () => {
        this.#socket = socket;
        resolve();
      });
      socket.on("data", (bytes: Buffer) => {
        if (this.#socket === socket) this.read(bytes);
      });
      socket.on("error", (error: NodeJS.ErrnoException) => {
        reject(error);
        if (this.#socket === socket) this.#fail(error.code ?? error.message);
      });
      socket.on("close", () => {
        // Ignores an event of an old socket after the connection has opened a new one.
        if (this.#socket !== socket) return;
        this.#socket = undefined;
        if (this.#state === "until close") this.#end();
        else this.#fail("closed");
      });
    });
  }

  /** Sends one request. Always resolves, also on a failure. */
  ask(request: Buffer): Promise<TimedAnswer> {
    const socket = this.#socket;
    this.#state = "head";
    this.#rest = undefined;
    this.#counter = new EventCounter(this.#onStamp);
    this.#answer = { ...emptyAnswer(), sentAtUs: nowUs() };
    if (socket === undefined) return Promise.resolve({ ...this.#answer, failure: "not connected" });
    return new Promise((resolve) => {
      this.#resolve = resolve;
      socket.write(request);
    });
  }

  close(): void {
    this.#resolve = undefined;
    this.#leave();
  }

  /** Ends the request in flight; it counts as failed. */
  abort(): void {
    this.#socket?.destroy();
  }

  /** Drops the socket, so that the next request opens a new one at once. */
  #leave(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  read(bytes: Buffer): void {
    const data = this.#rest === undefined ? bytes : Buffer.concat([this.#rest, bytes]);
    this.#rest = undefined;
    let at = 0;
    while (at < data.length && this.#resolve !== undefined) {
      const next = this.#step(data, at);
      if (next === undefined) {
        this.#rest = data.subarray(at);
        return;
      }
      at = next;
    }
  }

  /**
   * Parses the part of the response that begins at `at`. Returns where the next part begins; undefined if more bytes
   * are needed.
   */
  #step(data: Buffer, at: number): number | undefined {
    switch (this.#state) {
      case "head": {
        const end = data.indexOf(HEAD_END, at);
        if (end < 0) return undefined;
        this.#readHead(data.toString("latin1", at, end).toLowerCase());
        return end + HEAD_END.length;
      }
      case "length":
        return this.#pass(data, at, () => this.#end());
      case "chunk":
        return this.#pass(data, at, () => {
          this.#state = "chunk end";
        });
      case "until close":
        this.#body(data.subarray(at));
        return data.length;
      default: {
        const end = data.indexOf(LINE_FEED, at);
        if (end < 0) return undefined;
        this.#readLine(data.toString("latin1", at, end).trim());
        return end + 1;
      }
    }
  }

  #readHead(head: string): void {
    this.#answer.status = Number(head.slice(9, 12));
    this.#isStream = head.includes("text/event-stream");
    this.#closes = head.includes("\r\nconnection: close");
    const length = /\r\ncontent-length: *(\d+)/.exec(head)?.[1];
    if (head.includes("\r\ntransfer-encoding: chunked")) this.#state = "chunk size";
    else if (length === undefined) this.#state = "until close";
    else {
      this.#left = Number(length);
      this.#state = "length";
      if (this.#left === 0) this.#end();
    }
  }

  /** Reads a line of the chunked encoding. */
  #readLine(line: string): void {
    if (this.#state === "chunk end") {
      this.#state = "chunk size";
    } else if (this.#state === "chunk size") {
      this.#left = Number.parseInt(line, 16);
      this.#state = this.#left === 0 ? "trailer" : "chunk";
    } else if (line === "") {
      this.#end();
    }
  }

  #pass(data: Buffer, at: number, over: () => void): number {
    const count = Math.min(this.#left, data.length - at);
    this.#body(data.subarray(at, at + count));
    this.#left -= count;
    if (this.#left === 0) over();
    return at + count;
  }

  #body(bytes: Buffer): void {
    if (bytes.length === 0) return;
    if (this.#answer.firstByteAtUs === 0) this.#answer.firstByteAtUs = nowUs();
    if (this.#isStream) this.#counter.take(bytes);
  }

  #end(): void {
    const { status } = this.#answer;
    if (this.#closes) this.#leave();
    this.#settle(status === 200 ? undefined : `status ${status}`);
  }

  #fail(failure: string): void {
    this.#settle(failure);
  }

  #settle(failure: string | undefined): void {
    const resolve = this.#resolve;
    const { events, blanks, firstWordAtUs, done } = this.#counter;
    this.#resolve = undefined;
    this.#state = "head";
    resolve?.({ ...this.#answer, endedAtUs: nowUs(), events, blanks, firstWordAtUs, done, failure });
  }
}

function emptyAnswer(): TimedAnswer {
  return {
    status: 0,
    sentAtUs: 0,
    firstByteAtUs: 0,
    firstWordAtUs: 0,
    endedAtUs: 0,
    events: 0,
    blanks: 0,
    done: false,
    failure: undefined,
  };
}

const EVENT_END = Buffer.from("\n\n");
const STAMP = Buffer.from(" @");
const DONE = Buffer.from("[DONE]");
/** How many bytes at the end of a stream are kept, to find the closing marker in them. */
const TAIL_BYTES = 16;
const NOTHING: Buffer = Buffer.alloc(0);
const QUOTE = 34;
/** The maximum age of a timestamp. A text that reads like an older one is ordinary text. */
const STAMP_AGE_US_MAX = 60_000_000;

/**
 * Counts the events of one stream, also if an event is split between two reads. Reads the timestamps that the engine
 * wrote into the text.
 */
class EventCounter {
  readonly #onStamp: ((ageUs: number) => void) | undefined;
  #lastByte = 0;
  #tail = NOTHING;
  events = 0;
  blanks = 0;
  firstWordAtUs = 0;

  constructor(onStamp: ((ageUs: number) => void) | undefined) {
    this.#onStamp = onStamp;
  }

  /** Whether the stream ended with the closing marker `[DONE]`. */
  get done(): boolean {
    return this.#tail.includes(DONE);
  }

  take(bytes: Buffer): void {
    // The end of an event may be split between two reads.
    if (this.#lastByte === LINE_FEED && bytes[0] === LINE_FEED) this.events++;
    for (let i = bytes.indexOf(EVENT_END); i >= 0; i = bytes.indexOf(EVENT_END, i + 2)) this.events++;
    for (let i = bytes.indexOf(BLANK); i >= 0; i = bytes.indexOf(BLANK, i + 1)) this.blanks++;
    this.#lastByte = bytes[bytes.length - 1] ?? 0;
    if (this.firstWordAtUs === 0 && this.blanks > this.events && this.#lastByte === LINE_FEED)
      this.firstWordAtUs = nowUs();
    this.#tail = bytes.length >= TAIL_BYTES ? bytes : Buffer.concat([this.#tail.subarray(-TAIL_BYTES), bytes]);
    if (this.#onStamp !== undefined) this.#readStamps(bytes, this.#onStamp);
  }

  #readStamps(bytes: Buffer, take: (ageUs: number) => void): void {
    for (let i = bytes.indexOf(STAMP); i >= 0; i = bytes.indexOf(STAMP, i + 2)) {
      const end = bytes.indexOf(QUOTE, i);
      if (end < 0) return;
      const ageUs = nowUs() - Number.parseInt(bytes.toString("latin1", i + STAMP.length, end), 36);
      if (ageUs >= 0 && ageUs < STAMP_AGE_US_MAX) take(ageUs);
    }
  }
}

/**
 * Sends the request repeatedly for some seconds, one after the other on each connection. Returns how many were answered
 * successfully; throws if one was not.
 */
export async function repeatRequest(
  request: Buffer,
  { port, connections, seconds }: { port: number; connections: number; seconds: number },
): Promise<number> {
  const until = performance.now() + seconds * 1000;
  let answered = 0;
  const client = async (): Promise<void> => {
    const connection = new ClientConnection(port);
    await connection.open();
    while (performance.now() < until) {
      const { status, failure } = await connection.ask(request);
      if (status !== 200 || failure !== undefined) throw new Error(`${status} ${failure ?? ""}`);
      answered += 1;
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: connections }, client));
  return answered;
}
