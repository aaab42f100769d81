/**
 * Writes responses. Stream events of one event-loop turn share a write, which saves most of the cost of relaying.
 * Comments keep an idle stream open through proxies. Unread data of a slow client is limited; beyond the limit, the
 * connection is closed as if the client had disconnected.
 */
import type { ServerResponse } from "node:http";
import type { Clock } from "../base/clock.ts";
import { publicId, type Uuid } from "../base/ids.ts";
import type { Fault } from "../faults.ts";
import type { Reply } from "../inference/call-interface.ts";

const KEEP_ALIVE_MS = 5_000;
const UNREAD_BYTES_MAX = 1024 * 1024;
/** How long a client has to read the end of a failed stream. */
const LINGER_MS = 10_000;
/**
 * How long a failed stream to a web page stays open behind its error event. When a connection breaks, browsers discard what
 * the page has not read yet, so the event would be lost.
 */
const BROWSER_READS_MS = 200;
/**
 * The longest Retry-After that comes with x-should-retry: true. Beyond it, clients should show the error instead of
 * waiting.
 */
const WAIT_S_MAX = 60;

/** The headers of an error, including whether and when to retry. */
export function faultHeaders(known: Fault): Record<string, string> {
  const headers: Record<string, string> = { ...known.headers };
  if (known.status === 401) headers["www-authenticate"] ??= "Bearer";
  if (known.retry === "later") headers["retry-after"] ??= "1";
  const soon = Number(headers["retry-after"] ?? 0) <= WAIT_S_MAX;
  if (known.retry !== "unsaid") headers["x-should-retry"] = String(known.retry === "later" && soon);
  return headers;
}

/** Sets a header; a later value replaces an earlier one. */
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
  /** The headers of the answer, as a list of names and values in turn. */
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

  /** Copies the headers to the response, for handlers that write it themselves. */
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
      // The status was already sent. A response other than an event stream is aborted, so that a partial file is not
      // mistaken for a complete one.
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

  /**
   * Writes harmless bytes to detect a closed connection: a comment, or an interim response, which HTTP/1.0 clients do
   * not support.
   */
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
   * Sends the error as the final event, and closes without the terminating chunk, so that clients that ignore the event
   * see an incomplete body.
   */
  failStream(data: string): void {
    this.#stopKeepAlive?.();
    this.event(data);
    this.#flush();
    const { socket } = this.#response;
    if (socket === null) {
      // The response gets its socket only when earlier responses on the same connection have been sent, so the
      // connection cannot be closed yet.
      this.#response.end();
      return;
    }
    socket.once(
      "close",
      this.#clock.after(LINGER_MS, () => socket.destroy()),
    );
    // Browsers send the header Origin with every POST.
    if (this.#response.req.headers.origin === undefined) socket.destroySoon();
    else
      socket.once(
        "close",
        this.#clock.after(BROWSER_READS_MS, () => socket.destroySoon()),
      );
  }

  /** Schedules a keep-alive comment with one timer that re-arms itself, instead of one timer per write. */
  #keepAliveIn(delayMs: number): void {
    // A client that disconnected before its stream opened emits no close event later.
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
   * Writes each chunk as one string. Node's response would write size, line ends and text separately, at twice the cost
   * (bench/gateway, `steps-64`). An answer that waits for an earlier one still uses Node's response.
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
