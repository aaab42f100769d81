/**
 * Reads a request's body: limited in size, uncompressed, strict UTF-8, JSON. A declared length above the limit is
 * refused before any byte is read, and received bytes are counted too. A large body must reserve memory first.
 */
import type { IncomingMessage } from "node:http";
import type { Clock } from "../base/clock.ts";
import { fault, invalidRequest, makeSlowBodyFault, unsupportedEncoding } from "../faults.ts";
import { takeSharedBuffer } from "./shared-buffers.ts";

export const BODY_BYTES_MAX = 10 * 1024 * 1024;
/** Bodies up to this size are parsed immediately; larger ones use the budget and are parsed in a worker thread. */
export const SMALL_BODY_BYTES_MAX = 64 * 1024;
/** The maximum size of a body for callers without credentials. */
export const UNAUTHENTICATED_BODY_BYTES_MAX = SMALL_BODY_BYTES_MAX;
/**
 * A body may take any time in total. But it is refused after a pause of `IDLE_MS_MAX`, or if it is slower than
 * `BYTES_PER_S_MIN` after `BEGIN_MS`.
 */
const IDLE_MS_MAX = 15_000;
const BYTES_PER_S_MIN = 8 * 1024;
const BEGIN_MS = 30_000;
const LOOK_EVERY_MS = 1_000;
/** How many bytes are read from one connection before other connections get their turn. */
const TURN_BYTES = 256 * 1024;
/**
 * Bodies with deeper nesting or more values than any valid request would block the event loop for too long. A JSON
 * schema may have 100 levels; a deeper one is refused by its own rule, which names the field.
 */
const NESTING_MAX = 1_024;
export const JSON_VALUES_MAX = 100_000;
/** The maximum number of values in a body of any route except inference. */
export const FORM_VALUES_MAX = 10_000;
/**
 * How much and how long a refused client may continue to send. Clients read the error only after sending the whole
 * body.
 */
const DISCARD_BYTES_MAX = 16 * 1024 * 1024;
const DISCARD_MS_MAX = 2_000;

const utf8 = new TextDecoder("utf-8", { fatal: true });

export function checkDeclaredLength(request: IncomingMessage, bytesMax = BODY_BYTES_MAX): void {
  if (Number(request.headers["content-length"] ?? 0) > bytesMax) throw tooLarge(bytesMax);
}

function tooLarge(bytesMax: number): Error {
  const kib = bytesMax / 1024;
  const size = kib < 1024 ? `${kib} KiB` : `${kib / 1024} MiB`;
  return fault("request_too_large", { message: `The request body is larger than ${size}.` });
}

/** Parses a body, on the main thread or on a worker thread. */
export function parseJson(bytes: Uint8Array, valuesMax = JSON_VALUES_MAX): unknown {
  const excess = excessOf(bytes, valuesMax);
  if (excess !== null) throw invalidRequest(null, excess);
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch (cause) {
    throw invalidRequest(null, "The body must be valid UTF-8.", cause);
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw invalidRequest(null, "The body must be valid JSON.", cause);
  }
}

/** Refuses a body with a content encoding, or with a transfer encoding other than chunked. */
function refuseEncoded({ headers }: IncomingMessage): void {
  const { "content-encoding": encoding = "identity", "transfer-encoding": transfer = "chunked" } = headers;
  if (encoding.toLowerCase() !== "identity") throw unsupportedEncoding(encoding);
  if (transfer.toLowerCase() !== "chunked") throw unsupportedEncoding(transfer, "transfer-encoding");
}

/**
 * The whole body, if it is small and arrived together with the headers, as most bodies do. Null: the caller must wait
 * for it. Node has not emitted the end of the request yet, but all declared bytes are here.
 */
export function readIfAlreadyReceived(request: IncomingMessage, bytesMax: number): Buffer<ArrayBuffer> | null {
  const { destroyed, headers, readableLength: bytes } = request;
  if (destroyed || bytes === 0 || bytes > SMALL_BODY_BYTES_MAX || bytes > bytesMax) return null;
  if (Number(headers["content-length"]) !== bytes) return null;
  refuseEncoded(request);
  const whole = request.read();
  // Without this, Node would never emit the end of the request.
  request.resume();
  return whole;
}

interface ReadOptions {
  clock: Clock;
  bytesMax: number;
  /** Called just before the body is read, to send 100 Continue only then. */
  begin: () => void;
  /** Reserves memory for a large body, by its declared or received size. Returns false if there is not enough. */
  room: (bytes: number) => boolean;
}

/** The bytes of the body: one buffer if small, otherwise pieces of shared memory for a worker thread. */
export async function readBodyPieces(request: IncomingMessage, options: ReadOptions): Promise<Uint8Array[]> {
  const { clock, bytesMax, begin, room } = options;
  refuseEncoded(request);
  checkDeclaredLength(request, bytesMax);
  // The request has already closed, so its events will not be emitted again.
  if (request.destroyed) throw brokeOff(new Error("the connection closed before the body was read"));
  const declared = Number(request.headers["content-length"] ?? 0);
  if (declared > SMALL_BODY_BYTES_MAX && !room(declared)) throw noRoom();
  begin();
  return await new Promise((resolve, reject) => {
    const pieces = new Pieces(declared);
    const stopLooking = lookAtPace(clock, pieces, () => finish(() => reject(makeSlowBodyFault())));
    const finish = (settle: () => void): void => {
      stopLooking();
      request.off("data", onData).off("end", onEnd).off("error", onError).off("close", onClose);
      settle();
    };
    const takeTurns = inTurns(request);
    const onData = (chunk: Buffer): void => {
      takeTurns(chunk.length);
      const bytes = pieces.bytes + chunk.length;
      if (bytes > bytesMax) finish(() => reject(tooLarge(bytesMax)));
      else if (bytes > SMALL_BODY_BYTES_MAX && bytes > declared && !room(bytes)) finish(() => reject(noRoom()));
      else pieces.push(chunk);
    };
    const onEnd = (): void => finish(() => resolve(pieces.all()));
    const onError = (cause: Error): void => finish(() => reject(brokeOff(cause)));
    const onClose = (): void => onError(new Error("the connection closed"));
    request.on("data", onData).on("end", onEnd).on("error", onError).on("close", onClose);
  });
}

/** Calls `onSlow` when a body pauses for too long or is too slow overall. */
function lookAtPace(clock: Clock, came: { readonly bytes: number }, onSlow: () => void): () => void {
  const beganAt = clock.monotonic();
  let last = { bytes: 0, at: beganAt };
  return clock.every(LOOK_EVERY_MS, () => {
    const now = clock.monotonic();
    if (came.bytes !== last.bytes) last = { bytes: came.bytes, at: now };
    const dueAt = beganAt + BEGIN_MS + (came.bytes * 1000) / BYTES_PER_S_MIN;
    if (now - last.at >= IDLE_MS_MAX || now > dueAt) onSlow();
  });
}

const brokeOff = (cause: Error): Error =>
  invalidRequest(null, "The connection closed before the whole body arrived.", cause);

/** Pauses a connection with much data after each turn, so that it does not block the event loop. */
function inTurns(request: IncomingMessage): (bytes: number) => void {
  let bytes = 0;
  return (more) => {
    bytes += more;
    if (bytes < TURN_BYTES) return;
    bytes = 0;
    request.pause();
    setImmediate(() => request.resume());
  };
}

const noRoom = (): Error =>
  fault("no_capacity", {
    message: "Too many large request bodies are being read. Nothing was billed; it is safe to retry.",
  });

/**
 * Collects a body's bytes. A large body is copied into pieces as it arrives, because joining 10 MiB at the end would
 * block the event loop.
 */
class Pieces {
  bytes = 0;
  readonly #declared: number;
  #chunks: Buffer[] = [];
  readonly #full: Uint8Array[] = [];
  #last: Uint8Array | null = null;
  #lastBytes = 0;

  constructor(declared: number) {
    this.#declared = declared;
  }

  push(chunk: Buffer): void {
    this.bytes += chunk.length;
    if (this.#last === null && this.bytes <= SMALL_BODY_BYTES_MAX && this.#declared <= SMALL_BODY_BYTES_MAX) {
      this.#chunks.push(chunk);
      return;
    }
    for (const early of this.#chunks) this.#copy(early);
    this.#chunks = [];
    this.#copy(chunk);
  }

  all(): Uint8Array[] {
    if (this.#last !== null) return [...this.#full, this.#last.subarray(0, this.#lastBytes)];
    return [this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks)];
  }

  #copy(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      if (this.#last === null || this.#lastBytes === this.#last.length) {
        if (this.#last !== null) this.#full.push(this.#last);
        this.#last = takeSharedBuffer();
        this.#lastBytes = 0;
      }
      const part = chunk.subarray(at, at + this.#last.length - this.#lastBytes);
      this.#last.set(part, this.#lastBytes);
      this.#lastBytes += part.length;
      at += part.length;
    }
  }
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
/** Up to this distance, finding a quote byte by byte is faster than the native search. */
const NEAR_BYTES = 32;

/**
 * Counts the levels and values of JSON before it is parsed, in one pass over the bytes. Returns the exceeded limit, or
 * null.
 */
function excessOf(bytes: Uint8Array, valuesMax: number): string | null {
  let depth = 0;
  let values = 1;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === QUOTE) {
      i = stringEnd(bytes, i + 1);
    } else if (byte === COMMA) {
      values += 1;
    } else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      depth += 1;
      values += 1;
      if (depth > NESTING_MAX) return `The body must not be nested deeper than ${NESTING_MAX} levels.`;
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
      depth -= 1;
    }
    if (values > valuesMax) return `The body must not contain more than ${valuesMax} values.`;
  }
  return null;
}

/**
 * The index of the quote that closes the string starting at `from`, or the end of the bytes. In long strings without
 * quotes, the native search is many times faster.
 */
function stringEnd(bytes: Uint8Array, from: number): number {
  for (let at = from; at < bytes.length; ) {
    for (const near = at + NEAR_BYTES; at < near; at++) {
      const byte = bytes[at];
      if (byte === QUOTE || byte === undefined) return at;
      if (byte === BACKSLASH) at += 1;
    }
    const quote = bytes.indexOf(QUOTE, at);
    if (quote < 0) break;
    let slashes = 0;
    while (quote - slashes > at && bytes[quote - slashes - 1] === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return quote;
    at = quote + 1;
  }
  return bytes.length;
}

/**
 * Discards what a refused client still sends, up to a limit, so that the client can read the error. Then closes the
 * connection.
 */
export function discardRest(request: IncomingMessage, clock: Clock): void {
  if (request.complete || request.destroyed) return;
  let bytes = 0;
  const cut = (): void => {
    request.destroy();
  };
  const stopTimer = clock.after(DISCARD_MS_MAX, cut);
  request.once("close", stopTimer).once("end", stopTimer);
  request.on("error", () => {
    // The client closed the connection, which needs no further action.
  });
  const takeTurns = inTurns(request);
  request.on("data", (chunk: Buffer) => {
    takeTurns(chunk.length);
    bytes += chunk.length;
    if (bytes > DISCARD_BYTES_MAX) cut();
  });
}
