/**
 * Writing to a client. A stream's events are joined: what comes in one turn of the event loop goes out in one write, which
 * is where most of the cost of relaying lies. While nothing flows, a comment keeps proxies from closing the stream. A
 * client that does not read is held to a bounded buffer and then closed, as if it had left.
 */
import type { ServerResponse } from "node:http";
import type { Clock } from "../base/clock.ts";
import { publicId, type Uuid } from "../base/ids.ts";
import type { Fault } from "../faults.ts";
import type { Reply } from "../inference/call.ts";

const KEEP_ALIVE_MS = 5_000;
const UNREAD_BYTES_MAX = 1024 * 1024;
/** A client may take so long to read the end of a stream that failed. */
const LINGER_MS = 10_000;
/** A client should not keep a person waiting for longer than this; it says so, and leaves it to them. */
const WAIT_S_MAX = 60;

/** What an error says beside its envelope: whether to try again, and when. */
export function faultHeaders(known: Fault): Record<string, string> {
  const headers: Record<string, string> = { ...known.headers };
  if (known.status === 401) headers["www-authenticate"] ??= "Bearer";
  if (known.retry === "later") headers["retry-after"] ??= "1";
  const soon = Number(headers["retry-after"] ?? 0) <= WAIT_S_MAX;
  if (known.retry !== "unsaid") headers["x-should-retry"] = String(known.retry === "later" && soon);
  return headers;
}

/** The last value of a name is the one that is said. */
function put(headers: string[], name: string, value: string): void {
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i] !== name) continue;
    headers[i + 1] = value;
    return;
  }
  headers.push(name, value);
}

export class HttpReply implements Reply {
  readonly #response: ServerResponse;
  readonly #clock: Clock;
  /** Of whatever answer follows, name by name; written with its head. */
  readonly #headers: string[];
  #pending = "";
  #isStream = false;
  #wroteAt = 0;
  #stopKeepAlive: (() => void) | undefined;

  constructor(response: ServerResponse, options: { id: Uuid; clock: Clock }) {
    this.#response = response;
    this.#clock = options.clock;
    this.#headers = ["x-request-id", publicId("req", options.id)];
  }

  setHeaders(headers: Record<string, string>): void {
    for (const name in headers) put(this.#headers, name, headers[name] as string);
  }

  /** Sets them on the response, for who writes its head by other means. */
  passHeaders(): void {
    for (let i = 0; i < this.#headers.length; i += 2) {
      this.#response.setHeader(this.#headers[i] as string, this.#headers[i + 1] as string);
    }
  }

  json(status: number, body: string | readonly Uint8Array[], headers?: Record<string, string>): void {
    if (this.#response.headersSent || this.#response.destroyed) return;
    const isText = typeof body === "string";
    const bytes = isText ? Buffer.byteLength(body) : body.reduce((sum, part) => sum + part.length, 0);
    this.#headers.push("content-type", "application/json; charset=utf-8", "content-length", String(bytes));
    if (headers !== undefined) this.setHeaders(headers);
    this.#response.writeHead(status, this.#headers);
    if (isText) {
      this.#response.end(body);
      return;
    }
    for (const part of body) this.#response.write(part);
    this.#response.end();
  }

  fault(known: Fault): void {
    if (this.#response.headersSent) {
      // The status is gone. What is no event stream is cut: a part of a file must not pass for the whole.
      if (!this.#isStream) {
        if (!this.#response.writableEnded) this.#response.destroy();
        return;
      }
      this.failStream(JSON.stringify(known.body()));
      return;
    }
    this.json(known.status, JSON.stringify(known.body()), faultHeaders(known));
  }

  openStream(): void {
    this.#isStream = true;
    this.#headers.push(
      ...["content-type", "text/event-stream; charset=utf-8"],
      ...["cache-control", "no-cache, no-transform"],
      ...["x-accel-buffering", "no"],
    );
    this.#response.writeHead(200, this.#headers);
    this.#response.flushHeaders();
    this.#wroteAt = this.#clock.monotonic();
    this.#keepAliveIn(KEEP_ALIVE_MS);
    this.#response.once("close", () => this.#stopKeepAlive?.());
  }

  event(data: string): void {
    if (this.#pending === "") queueMicrotask(() => this.#flush());
    this.#pending += `data: ${data}\n\n`;
  }

  /** Writes what means nothing, to see whether anyone is there. An older client does not know of interim answers. */
  probe(): void {
    if (this.#response.writableEnded || this.#response.destroyed) return;
    if (this.#isStream) {
      this.#pending += ": keep-alive\n\n";
      this.#flush();
    } else if (!this.#response.headersSent && this.#response.req.httpVersionMinor > 0) {
      this.#response.writeContinue();
    }
  }

  endStream(): void {
    this.#stopKeepAlive?.();
    this.#flush();
    this.#response.end();
  }

  /**
   * The terminal error event, and then the connection closes without the last chunk: clients that pass over the event see that the body
   * is not finished.
   */
  failStream(data: string): void {
    this.#stopKeepAlive?.();
    this.event(data);
    this.#flush();
    const { socket } = this.#response;
    if (socket === null) {
      // It is behind other answers on its connection, which have to go out whole.
      this.#response.end();
      return;
    }
    socket.once(
      "close",
      this.#clock.after(LINGER_MS, () => socket.destroy()),
    );
    socket.destroySoon();
  }

  /** One timer that looks again when something was written meanwhile, instead of one per write. */
  #keepAliveIn(delayMs: number): void {
    // A client may leave before its stream opens, and is then never seen to close it.
    if (this.#response.destroyed) return;
    this.#stopKeepAlive = this.#clock.after(delayMs, () => {
      if (this.#clock.monotonic() - this.#wroteAt >= KEEP_ALIVE_MS) {
        this.#pending += ": keep-alive\n\n";
        this.#flush();
      }
      this.#keepAliveIn(Math.max(1, this.#wroteAt + KEEP_ALIVE_MS - this.#clock.monotonic()));
    });
  }

  #flush(): void {
    const text = this.#pending;
    this.#pending = "";
    if (text === "" || this.#response.destroyed || this.#response.writableEnded) return;
    this.#write(text);
    this.#wroteAt = this.#clock.monotonic();
    if (this.#response.writableLength > UNREAD_BYTES_MAX) this.#response.destroy();
  }

  /**
   * Node's response hands the socket a chunk's size, line ends and text one by one, and the socket gathers them again: as one text they
   * cost half (bench/gateway, `steps-64`). Where the answer waits behind others on its connection, the response keeps it.
   */
  #write(text: string): void {
    const { socket, chunkedEncoding } = this.#response;
    if (!this.#isStream || socket === null || !chunkedEncoding) {
      this.#response.write(text);
      return;
    }
    const bytes = Buffer.byteLength(text);
    socket.write(`${bytes.toString(16)}\r\n${text}\r\n`, bytes === text.length ? "latin1" : "utf8");
  }
}
