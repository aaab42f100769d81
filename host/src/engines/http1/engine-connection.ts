/**
 * A connection to an engine's server that handles one request at a time. Response bytes are passed on synchronously
 * within the read, without a stream or a promise per chunk.
 */
import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { type AnswerHead, AnswerParser } from "./answer-parser.ts";

/** All connections share this read buffer, because each read is processed before the next one. */
const READ_BYTES = 64 * 1024;
let readMemory: Buffer | undefined;

const KEEP_ALIVE_AFTER_MS = 1_000;

export interface EngineServerAddress {
  host: string;
  port: number;
  secure: boolean;
}

/** The callbacks for one request. Either `ended` or `failed` is called, exactly once and last. */
interface Exchange {
  /**
   * Receives the head with the first bytes of the body, and then more bytes. The memory is only valid during the call.
   */
  heard(head: AnswerHead, bytes: Buffer): void;
  /** The response ended. `whole` is false if the connection broke first. */
  ended(whole: boolean): void;
  /** The request failed before a response arrived. */
  failed(error: Error): void;
}

interface Events {
  up: () => void;
  /** Called when a request has ended and the connection can be reused. */
  rests: (head: AnswerHead) => void;
  /** Called when the connection cannot be reused. */
  closed: () => void;
}

export class EngineConnection {
  readonly #socket: Socket;
  readonly #rests: (head: AnswerHead) => void;
  readonly #closed: () => void;
  #exchange: Exchange | undefined;
  #parser: AnswerParser | undefined;
  #error: Error | undefined;

  constructor(server: EngineServerAddress, { up, rests, closed }: Events) {
    this.#rests = rests;
    this.#closed = closed;
    this.#socket = open(server, (bytes) => this.#read(bytes));
    this.#socket.on("error", (error) => {
      this.#error ??= error;
    });
    this.#socket.once(server.secure ? "secureConnect" : "connect", up);
    this.#socket.on("end", () => this.#end());
    this.#socket.on("close", () => this.#close());
  }

  begin(request: string, exchange: Exchange): void {
    this.#exchange = exchange;
    this.#parser = new AnswerParser();
    this.#socket.write(request);
  }

  /**
   * Closes the connection, so that the engine stops generating. The running request ends as with a broken connection.
   */
  destroy(error?: Error): void {
    this.#error ??= error;
    this.#socket.destroy();
  }

  /** Lets the process exit while the connection is idle. */
  rest(): void {
    this.#socket.unref();
  }

  wake(): void {
    this.#socket.ref();
  }

  #read(bytes: Buffer): void {
    const parser = this.#parser;
    if (parser === undefined || this.#exchange === undefined) {
      // Data without a request violates the protocol, so the connection is closed.
      this.#socket.destroy();
      return;
    }
    const body = parser.push(bytes);
    if (parser.head !== undefined) this.#exchange.heard(parser.head, body);
    if (parser.complete) this.#complete(parser);
    else if (parser.fault !== undefined) this.destroy(parser.fault);
  }

  /** Called when the server has closed its side, so no more data will arrive. */
  #end(): void {
    const parser = this.#parser;
    if (parser?.end()) this.#complete(parser);
    else this.#socket.destroy();
  }

  #complete(parser: AnswerParser): void {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    this.#parser = undefined;
    const { head, reusable } = parser;
    // If the response arrives before the request was sent completely, the server would read the remaining bytes as
    // another request. The connection cannot be reused then.
    const usable = reusable && head !== undefined && this.#socket.writableLength === 0 && !this.#socket.destroyed;
    if (usable) this.#rests(head);
    else this.#socket.destroy();
    exchange?.ended(true);
  }

  #close(): void {
    const exchange = this.#exchange;
    const answered = this.#parser?.head !== undefined;
    this.#exchange = undefined;
    this.#parser = undefined;
    this.#closed();
    if (answered) exchange?.ended(false);
    else exchange?.failed(this.#error ?? closedEarly());
  }
}

const closedEarly = (): Error =>
  Object.assign(new Error("the connection closed before the response"), { code: "ECONNRESET" });

function open({ host, port, secure }: EngineServerAddress, read: (bytes: Buffer) => void): Socket {
  const options = { host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_AFTER_MS };
  if (secure) {
    const servername = isIP(host) === 0 ? { servername: host } : {};
    return connectTls({ ...options, ...servername, ALPNProtocols: ["http/1.1"] }).on("data", read);
  }
  readMemory ??= Buffer.allocUnsafeSlow(READ_BYTES);
  const memory = readMemory;
  const callback = (bytes: number): boolean => {
    read(memory.subarray(0, bytes));
    return true;
  };
  return connect({ ...options, onread: { buffer: memory, callback } });
}
